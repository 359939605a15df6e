"""The code of a run as a wheel: the same bytes for the same code, and nothing in it that isn't the code's."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from dataclasses import replace

import pytest

from runner.archives.harness import (
    harness_in,
    harness_inputs,
    harness_of,
    source_digest_of_wheel,
    wheel_members,
    wheel_name,
)
from runner.core.canonical import sha256_digest
from runner.core.errors import EvidenceError
from runner.core.harness import Installation, pin_of, pinned_versions, version_differences

SOURCES = {
    "runner/__init__.py": b'__version__ = "1.2.3"\n',
    "runner/cli/__init__.py": b"",
    "runner/cli.py": b"pass\n",
    "runner/publish/a,b.css": b"p{}",
}
INSTALLED = Installation(
    version="1.2.3",
    python="3.11.7",
    requires_python=">=3.11",
    licence="Apache-2.0",
    requires=("numpy>=2", 'pyarrow>=17; extra == "parquet"'),
    scripts={"pairbench": "runner.cli:main"},
    requirements=b"numpy==2.4.6 \\\n    --hash=sha256:" + b"0" * 64 + b"\n",
)


def zipped(*members: tuple[str, bytes], mode: int = 0o100644) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return stream.getvalue()


def test_the_same_code_gives_the_same_bytes() -> None:
    """Whatever order its files were found in."""
    made = harness_of(SOURCES, INSTALLED)
    assert harness_of(dict(reversed(SOURCES.items())), INSTALLED) == made
    assert sha256_digest(made.wheel) == "sha256:f753d91a775fef7cb26455497f2be52e97242280467b5a7a4c37aac9e40d6f5d"


def test_a_wheel_says_which_code_it_is() -> None:
    """The digest that its bytes give is that of the lock: over names and contents, in the order of their parts."""
    made = harness_of(SOURCES, INSTALLED)
    assert made.pin.source_sha256 == "sha256:4b3f3cfd2e7f755eb3a7709d975901b7007e13e079dfcdb8baa722392508f742"
    assert source_digest_of_wheel(made.wheel) == made.pin.source_sha256
    assert made.pin == pin_of(SOURCES, "1.2.3", "3.11.7", INSTALLED.requirements)
    assert made.pin.requirements_sha256 == sha256_digest(INSTALLED.requirements)
    changed = harness_of({**SOURCES, "runner/cli.py": b"pass \n"}, INSTALLED)
    assert source_digest_of_wheel(changed.wheel) != made.pin.source_sha256


def test_a_wheel_describes_itself_as_installers_read_it() -> None:
    """Its name, what it needs, its command, and the digest of each of its files."""
    made = harness_of(SOURCES, INSTALLED)
    members = wheel_members(made.wheel)
    assert made.wheel_name == "pairbench-1.2.3-py3-none-any.whl"
    assert members["pairbench-1.2.3.dist-info/METADATA"].decode() == (
        "Metadata-Version: 2.4\nName: pairbench\nVersion: 1.2.3\nLicense-Expression: Apache-2.0\n"
        'Requires-Python: >=3.11\nRequires-Dist: numpy>=2\nRequires-Dist: pyarrow>=17; extra == "parquet"\n'
        "Provides-Extra: parquet\n"
    )
    assert members["pairbench-1.2.3.dist-info/entry_points.txt"] == (
        b"[console_scripts]\npairbench = runner.cli:main\n"
    )
    record = members["pairbench-1.2.3.dist-info/RECORD"].decode().splitlines()
    assert record[1] == "runner/cli.py,sha256=n1bnYdeb_bNDBKASWGywTRa0Ne9hMAkal3AuVZJgovI,5"
    assert '"runner/publish/a,b.css",sha256=' in record[3]
    assert record[-1] == "pairbench-1.2.3.dist-info/RECORD,,"
    assert len(record) == len(members)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("numpy/__init__.py", "no part of the package"),
        ("sitecustomize.py", "no part of the package"),
        ("runner", "no part of the package"),
        ("pairbench-1.2.3.data/purelib/x.py", "no part of the package"),
        ("other-1.2.3.dist-info/METADATA", "no part of the package"),
        ("runner/../x.py", "leads elsewhere"),
        ("/runner/x.py", "leads elsewhere"),
        ("runner//x.py", "leads elsewhere"),
        ("runner/x\x1b.py", "leads elsewhere"),
        ("runner/__pycache__/x.pyc", "compiled"),
        ("runner/cli.py", "twice"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_no_digest_of_the_package_names_is_refused(name: str, fault: str) -> None:
    """Code beside the package would run, and would be no part of what the lock names."""
    with pytest.raises(EvidenceError, match=fault):
        source_digest_of_wheel(zipped(("runner/cli.py", b""), (name, b"")))


def test_links_are_refused() -> None:
    """A name whose content is the place that it leads to."""
    with pytest.raises(EvidenceError, match="no regular file"):
        wheel_members(zipped(("runner/x.py", b"/etc/passwd"), mode=0o120777))


def test_what_is_no_wheel_and_what_would_fill_the_memory_is_refused() -> None:
    """Before anything of it is unpacked."""
    with pytest.raises(EvidenceError, match="it is no wheel"):
        wheel_members(b"PK")
    packed = bytearray(zipped(("runner/x.py", b"x")))
    at = packed.rindex(b"PK\x01\x02") + 24
    packed[at : at + 4] = (1 << 30).to_bytes(4, "little")
    with pytest.raises(EvidenceError, match="1073741824 bytes, more than any code of ours"):
        wheel_members(bytes(packed))


@pytest.mark.parametrize("kind", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_nothing_is_unpacked_whatever_size_it_says(kind: int) -> None:
    """32 MiB of zeros that are said to be one byte are never held in memory."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", kind) as archive:
        archive.writestr("runner/x.py", bytes(32 << 20))
    packed = bytearray(stream.getvalue())
    at = packed.rindex(b"PK\x01\x02") + 24
    packed[at : at + 4] = (1).to_bytes(4, "little")
    del stream
    tracemalloc.start()
    try:
        with pytest.raises(EvidenceError, match=r"it holds 'runner/x\.py' packed, and ours pack nothing"):
            wheel_members(bytes(packed))
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()


def test_a_wheel_of_very_many_members_is_refused() -> None:
    """A list of them all costs memory before any can be looked at."""
    entry = b"PK\x01\x02" + bytes(42)
    with pytest.raises(EvidenceError, match="or 10000 members, as no wheel of ours"):
        wheel_members(entry * 10_001)


def test_a_run_keeps_its_code_and_it_is_the_code_of_its_lock() -> None:
    """Two files; one that is missing, surplus or of other code is named."""
    made = harness_of(SOURCES, INSTALLED)
    assert sorted(harness_inputs(made)) == [
        "inputs/harness/pairbench-1.2.3-py3-none-any.whl",
        "inputs/harness/requirements.txt",
    ]
    kept = {made.wheel_name: made.wheel, "requirements.txt": made.requirements}
    assert harness_in(made.pin, kept) == made
    other = harness_of({**SOURCES, "runner/cli.py": b""}, INSTALLED)
    with pytest.raises(EvidenceError, match=rf"its code is {made.pin.source_sha256}, and the lock says"):
        harness_in(other.pin, kept)
    with pytest.raises(EvidenceError, match=r"inputs/harness/requirements.txt: the file is missing"):
        harness_in(made.pin, {made.wheel_name: made.wheel})
    with pytest.raises(EvidenceError, match=r"inputs/harness/requirements.txt: its digest is sha256:\w+, and the lock"):
        harness_in(made.pin, {**kept, "requirements.txt": b"evil==6.6.6\n"})
    with pytest.raises(EvidenceError, match=r"inputs/harness/more.whl: it is neither"):
        harness_in(made.pin, {**kept, "more.whl": b""})
    with pytest.raises(EvidenceError, match=r"pairbench-9-py3-none-any.whl: the file is missing"):
        harness_in(replace(made, pin=pin_of(SOURCES, "9", "3.11.7")).pin, kept)


@pytest.mark.parametrize("version", ["", "../x", "1 2", "1/2", "\x1b"])
def test_a_version_leads_nowhere(version: str) -> None:
    """It is part of a file's name."""
    with pytest.raises(EvidenceError, match="is no version"):
        wheel_name(version)


def test_versions_that_differ_are_said_and_what_is_not_there_is_not() -> None:
    """Names are compared as indexes do; hashes and comments say nothing of a version."""
    wanted = pinned_versions(b"# of 3.11\nNumPy==2.4.6 \\\n    --hash=sha256:00\nir_measures==0.4.3\nscipy==1.17.1\n")
    assert wanted == {"numpy": "2.4.6", "ir-measures": "0.4.3", "scipy": "1.17.1"}
    assert version_differences(wanted, {"numpy": "2.5.5", "ir-measures": "0.4.3"}) == (
        "numpy is 2.5.5 here, and was 2.4.6",
    )
