"""The bill of materials names everything by checksum, is the same for the same image, and is valid SPDX."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from spdx_tools.spdx.parser.jsonlikedict.json_like_dict_parser import JsonLikeDictParser
from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document

from runner.images.build import build_image
from runner.images.facts import image_facts
from runner.images.spdx import spdx_document

if TYPE_CHECKING:
    from tests.unit.images_builder.conftest import World


def document(world: World, cache: str = "cache") -> bytes:
    build = world.build(cache, recorded=True)
    image = build_image("tool", build)
    return spdx_document(image, image_facts(image, build.store), "bookworm")


def packages(world: World) -> dict[str, Any]:
    return {package["name"]: package for package in json.loads(document(world))["packages"]}


def test_the_document_is_valid(world: World) -> None:
    """By the reference implementation of the specification."""
    parser = JsonLikeDictParser()  # type: ignore[no-untyped-call]
    parsed = parser.parse(json.loads(document(world)))
    assert validate_full_spdx_document(parsed) == []


def test_it_describes_the_image_which_contains_layers_which_contain_packages(world: World) -> None:
    """One relationship leads from the document to the image; everything else hangs below."""
    found = json.loads(document(world))
    names = {package["SPDXID"]: package["name"] for package in found["packages"]} | {found["SPDXID"]: "document"}
    related = [
        (names[item["spdxElementId"]], item["relationshipType"], names[item["relatedSpdxElement"]])
        for item in found["relationships"]
    ]
    assert related == [
        ("document", "DESCRIBES", "pairbench/tool"),
        ("pairbench/tool", "CONTAINS", "layer 0: base"),
        ("layer 0: base", "CONTAINS", "libc6"),
        ("layer 0: base", "CONTAINS", "python3"),
        ("layer 0: base", "CONTAINS", "images/base/base.toml"),
        ("pairbench/tool", "CONTAINS", "layer 1: wheels"),
        ("layer 1: wheels", "CONTAINS", "alpha"),
        ("layer 1: wheels", "CONTAINS", "beta"),
        ("pairbench/tool", "CONTAINS", "layer 2: model"),
        ("layer 2: model", "CONTAINS", "gamma"),
        ("pairbench/tool", "CONTAINS", "layer 3: programs"),
        ("layer 3: programs", "CONTAINS", "images/tool/tool"),
    ]


def test_packages_have_checksums_and_locators(world: World) -> None:
    """The file's own digest, and a package URL by which registries of vulnerabilities know it."""
    found = packages(world)
    locators = {
        name: [item["referenceLocator"] for item in package["externalRefs"]]
        for name, package in found.items()
        if "externalRefs" in package and name != "pairbench/tool"
    }
    assert locators == {
        "libc6": ["pkg:deb/debian/libc6@2.36-9?arch=amd64&distro=bookworm"],
        "python3": ["pkg:deb/debian/python3@3.11.2-1?arch=amd64&distro=bookworm"],
        "alpha": ["pkg:pypi/alpha@1.0?file_name=alpha-1.0-py3-none-any.whl"],
        "beta": ["pkg:pypi/beta@2.0?file_name=beta-2.0-py3-none-any.whl"],
        "gamma": ["pkg:pypi/gamma@3.0?file_name=gamma-3.0-py3-none-any.whl"],
    }
    wheel = found["gamma"]
    assert f"sha256:{wheel['checksums'][0]['checksumValue']}" == world.index.wheel("gamma").sha256
    assert (wheel["packageFileName"], wheel["licenseDeclared"]) == ("gamma-3.0-py3-none-any.whl", "NOASSERTION")
    assert {package["licenseConcluded"] for package in found.values()} == {"NOASSERTION"}


def test_it_depends_on_the_image_alone(world: World) -> None:
    """Another cache gives the same bytes; another image has another namespace; the time is the fixed one."""
    first = document(world, "one")
    assert document(world, "two") == first
    (world.images / "tool/tool/main.py").write_text("import inner  # changed\n", "utf-8")
    before, after = json.loads(first), json.loads(document(world))
    assert before["documentNamespace"] != after["documentNamespace"]
    assert before["creationInfo"] == {"created": "2024-01-01T00:00:00Z", "creators": ["Tool: pairbench"]}
