"""An image's bill of materials as SPDX 2.3 in JSON: what it contains, with checksums, and who contains whom.

The document is a function of the image alone: its time is the fixed one, and its namespace is made of its own digest.
Licences stand in it where a package states one plainly, and nothing is concluded (`NOASSERTION`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import quote

from runner.core.canonical import canonical_bytes, digest_of
from runner.core.harness import normalized
from runner.images.tarball import FIXED_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runner.core.canonical import Json
    from runner.images.facts import LayerFacts
    from runner.images.oci import BuiltImage
    from runner.images.origins import Origin

_NONE = "NOASSERTION"
_DOCUMENT = "SPDXRef-DOCUMENT"
_NAMESPACE = "https://spdx.org/spdxdocs"
"""Where the specification puts documents whose makers have no place of their own; nothing is fetched from there."""


def spdx_document(image: BuiltImage, layers: Sequence[LayerFacts], suite: str) -> bytes:
    """The document of `image`; `suite` is the release of Debian that its packages are of."""
    origins = sorted({package.origin for layer in layers for package in layer.packages})
    document: dict[str, Json] = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": _DOCUMENT,
        "name": image.tag,
        "creationInfo": {"created": FIXED_TIME, "creators": ["Tool: pairbench"]},
        "packages": [
            _image_package(image),
            *(_layer_package(number, layer) for number, layer in enumerate(layers)),
            *(_package(origin, image.arch, suite) for origin in origins),
        ],
        "relationships": list(_relationships(layers)),
    }
    namespace = digest_of(document).removeprefix("sha256:")
    return canonical_bytes({**document, "documentNamespace": f"{_NAMESPACE}/pairbench-{image.name}-{namespace}"})


def _image_package(image: BuiltImage) -> dict[str, Json]:
    repository = image.tag.partition(":")[0]
    purl = f"pkg:oci/{image.name}@{quote(image.manifest_digest)}?arch={image.arch}&repository_url={quote(repository)}"
    return {
        **_common("SPDXRef-Image", image.tag.partition(":")[0], image.config_digest),
        "checksums": [_checksum(image.manifest_digest)],
        "comment": f"The version is the digest of the configuration, the checksum that of the manifest. {image.tag}",
        "externalRefs": [_purl(purl)],
        "primaryPackagePurpose": "CONTAINER",
    }


def _layer_package(number: int, layer: LayerFacts) -> dict[str, Json]:
    diff_id = layer.layer.diff_id
    return {
        **_common(_layer_id(number), f"layer {number}: {layer.layer.name}", diff_id),
        "checksums": [_checksum(diff_id)],
        "comment": "The checksum is that of the uncompressed tar.",
        "primaryPackagePurpose": "ARCHIVE",
    }


def _package(origin: Origin, arch: str, suite: str) -> dict[str, Json]:
    package = _common(_origin_id(origin), origin.name, origin.version or origin.sha256)
    package |= {"licenseDeclared": origin.licence or _NONE, "checksums": [_checksum(origin.sha256)]}
    match origin.kind:
        case "debian":
            own_arch = origin.file.removesuffix(".deb").rpartition("_")[2] or arch
            purl = f"pkg:deb/debian/{quote(origin.name)}@{quote(origin.version)}?arch={own_arch}&distro={suite}"
            package |= {"packageFileName": origin.file, "externalRefs": [_purl(purl)]}
        case "wheel":
            purl = f"pkg:pypi/{normalized(origin.name)}@{quote(origin.version)}?file_name={quote(origin.file)}"
            package |= {"packageFileName": origin.file, "externalRefs": [_purl(purl)]}
        case "image":
            name = origin.name.rpartition("/")[2].partition(":")[0]
            purl = f"pkg:oci/{quote(name)}@{quote(origin.sha256)}?arch={arch}"
            package |= {"externalRefs": [_purl(purl)], "primaryPackagePurpose": "CONTAINER"}
        case "program" | "declaration":
            package |= {"comment": f"A {origin.kind} of Pairbench; the checksum is that of its paths and contents."}
    return package


def _common(identity: str, name: str, version: str) -> dict[str, Json]:
    return {
        "SPDXID": identity,
        "name": name,
        "versionInfo": version,
        "downloadLocation": _NONE,
        "filesAnalyzed": False,
        "licenseConcluded": _NONE,
        "licenseDeclared": _NONE,
        "copyrightText": _NONE,
    }


def _relationships(layers: Sequence[LayerFacts]) -> Iterator[Json]:
    yield _related(_DOCUMENT, "DESCRIBES", "SPDXRef-Image")
    for number, layer in enumerate(layers):
        yield _related("SPDXRef-Image", "CONTAINS", _layer_id(number))
        for package in layer.packages:
            yield _related(_layer_id(number), "CONTAINS", _origin_id(package.origin))


def _related(one: str, how: str, other: str) -> dict[str, Json]:
    return {"spdxElementId": one, "relationshipType": how, "relatedSpdxElement": other}


def _layer_id(number: int) -> str:
    return f"SPDXRef-Layer-{number}"


def _origin_id(origin: Origin) -> str:
    # Names may hold what an identifier may not; the digest keeps two of them apart.
    plain = re.sub(r"[^A-Za-z0-9.-]+", "-", origin.name).strip("-")
    return f"SPDXRef-{origin.kind}-{plain}-{origin.sha256.removeprefix('sha256:')[:16]}"


def _checksum(digest: str) -> dict[str, Json]:
    return {"algorithm": "SHA256", "checksumValue": digest.removeprefix("sha256:")}


def _purl(locator: str) -> dict[str, Json]:
    return {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": locator}
