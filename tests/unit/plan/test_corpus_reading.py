"""A corpus is laid out from its parts, or everything that forbids it is told; nothing of a part is ever run."""

from __future__ import annotations

import io
import stat
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from runner.core.canonical import Digest, sha256_digest
from runner.core.corpus import CorpusFile
from runner.core.declared import read_declared
from runner.core.errors import EnvironmentNotReady, StudyError
from runner.core.tars import TreeFile
from runner.plan.corpora import CorpusReader, lock_of
from tests.fakes.files import MemoryFiles
from tests.fakes.image_tools import FakeIndex, wheel
from tests.fakes.repositories import MemoryRepositories

if TYPE_CHECKING:
    from collections.abc import Sequence

HOME = Path("/corpora/odd")


class Shelf(FakeIndex):
    """An index that puts its wheels into the files of the test."""

    def __init__(self, files: MemoryFiles, data: bytes) -> None:
        super().__init__({"odd": ("1.0", (), data)})
        self.files = files

    def download(self, wheels: Sequence[Any], folder: Path, *, python: str, arch: str) -> None:
        self.asked.append(f"download {python} {arch}")
        for item in wheels:
            self.files.write(folder / item.file, self.wheels[item.name][2])


def reader(data: bytes = b"", **held: str) -> CorpusReader:
    """A reader whose index has the wheel `odd` of `data`, and whose corpus folder holds texts."""
    files = MemoryFiles()
    for name, text in held.items():
        files.put(HOME / name.replace("__", "/"), text)
    return CorpusReader(files, Shelf(files, data), MemoryRepositories(), Path("/cache"))


def declared(*parts: str) -> CorpusFile:
    text = f"""
format = "pairbench/corpus"
version = 1
name = "odd"
description = "Odd."
licence = "MIT"
splitter = {{ name = "lines-1" }}
parts = [{", ".join(parts)}]
"""
    return read_declared(CorpusFile, text.encode(), "corpus.toml")


def wheel_part(data: bytes, more: str = "") -> str:
    digest = sha256_digest(data)
    name = "odd-1.0-py3-none-any.whl"
    return f'{{ kind = "wheel", name = "odd", version = "1.0", filename = "{name}", sha256 = "{digest}"{more} }}'


def member(name: str, data: bytes = b"x", mode: int = 0o100644) -> tuple[zipfile.ZipInfo, bytes]:
    info = zipfile.ZipInfo(name, (2020, 2, 2, 0, 0, 0))
    info.external_attr = mode << 16
    return info, data


def archive(*members: tuple[zipfile.ZipInfo, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as made:
        for info, data in members:
            made.writestr(info, data)
    return stream.getvalue()


def problems(made: CorpusReader, corpus: CorpusFile) -> list[str]:
    with pytest.raises(StudyError) as caught:
        made.corpus(corpus, HOME, "corpus.toml")
    return [str(problem) for problem in caught.value.problems]


def test_parts_are_laid_down_by_their_globs() -> None:
    """A wheel and a folder, each below its own place; the order is that of the paths' bytes."""
    data = wheel({"odd/__init__.py": b"A = 1\n", "odd/tests/t.py": b"", "odd-1.0.dist-info/RECORD": b"r"})
    part = wheel_part(data, ', exclude = ["*.dist-info/**", "**/tests/**"]')
    made = reader(data, files__b="bee\n", files__a__c="sea\n")
    found = made.corpus(declared(part, '{ kind = "files", path = "files", into = "docs" }'), HOME, "corpus.toml")
    assert list(found.files) == ["docs/a/c", "docs/b", "odd/__init__.py"]
    assert found.contents()["docs/b"] == b"bee\n"
    assert [passage.source for passage in found.passages] == ["docs/a/c", "docs/b", "odd/__init__.py"]


def test_executables_stay_executable() -> None:
    """As the wheel says, and as the folder says."""
    data = archive(member("odd/run", mode=0o100755), member("odd/plain"), member("odd/bare", mode=0))
    made = reader(data, files__script="#!/bin/sh\n")
    assert isinstance(made.files, MemoryFiles)
    made.files.executable.add(HOME / "files/script")
    found = made.corpus(declared(wheel_part(data), '{ kind = "files", path = "files" }'), HOME, "corpus.toml")
    assert {path: file.executable for path, file in found.files.items()} == {
        "odd/bare": False,
        "odd/plain": False,
        "odd/run": True,
        "script": True,
    }


def test_a_wheel_is_fetched_once() -> None:
    """The second time, and for another corpus, it is in the cache; a damaged one is fetched again."""
    data = wheel({"odd/__init__.py": b"A = 1\n"})
    made = reader(data)
    corpus = declared(wheel_part(data))
    for _ in range(2):
        made.corpus(corpus, HOME, "corpus.toml")
    assert made.wheels.asked == ["download 3.11 amd64"]  # type: ignore[attr-defined]
    place = Path("/cache/corpora") / sha256_digest(data).partition(":")[2] / "odd-1.0-py3-none-any.whl"
    made.files.write(place, b"damaged")
    made.corpus(corpus, HOME, "corpus.toml")
    assert made.wheels.asked == ["download 3.11 amd64"] * 2  # type: ignore[attr-defined]


def test_a_wheel_with_another_digest_is_not_opened() -> None:
    """An index that serves another file under the name of the pinned one."""
    data = wheel({"odd/__init__.py": b"A = 1\n"})
    made = reader(wheel({"odd/__init__.py": b"import os\n"}))
    with pytest.raises(EnvironmentNotReady, match=r"odd-1\.0-py3-none-any\.whl is not what its digest says") as caught:
        made.corpus(declared(wheel_part(data)), HOME, "corpus.toml")
    assert caught.value.problems[0].key == "parts[0].sha256"


@pytest.mark.parametrize(
    ("name", "mode", "fault"),
    [
        ("odd/link", stat.S_IFLNK | 0o777, "parts[0]: odd/link: it holds a link"),
        ("odd/pipe", stat.S_IFIFO | 0o644, "parts[0]: odd/pipe: it holds something else than files"),
        ("odd/device", stat.S_IFCHR | 0o644, "parts[0]: odd/device: it holds something else than files"),
        ("odd/first", stat.S_IFREG | 0o644, "parts[0]: odd/first: it holds two files of this name"),
        ("../escape", stat.S_IFREG | 0o644, "../escape: a path has an empty part, . or .."),
        ("/etc/passwd", stat.S_IFREG | 0o644, "/etc/passwd: a path is absolute"),
        ("odd/./x", stat.S_IFREG | 0o644, "odd/./x: a path has an empty part, . or .."),
        ("odd//x", stat.S_IFREG | 0o644, "odd//x: a path has an empty part, . or .."),
        ("odd/FIRST", stat.S_IFREG | 0o644, "odd/first: differs from odd/FIRST in case only"),
        ("odd", stat.S_IFREG | 0o644, "odd: is a file, and the folder of odd/first"),
        ("odd/a\nb", stat.S_IFREG | 0o644, "a path holds a control character or a backslash"),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_may_not_be_laid_out_is_refused(name: str, mode: int, fault: str) -> None:
    """Links, devices, ways out, and names that two systems read differently."""
    data = archive(member("odd/first"), member(name, mode=mode))
    found = problems(reader(data), declared(wheel_part(data)))
    assert len(found) == 1
    assert found[0].startswith("corpus.toml: ")
    assert fault in found[0]


def encrypted() -> bytes:
    data = bytearray(archive(member("odd/secret")))
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


def torn() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("odd/text", bytes(range(256)) * 40)
    data = bytearray(stream.getvalue())
    data[60:90] = b"\xff" * 30
    return bytes(data)


@pytest.mark.parametrize("data", [b"", b"no zip at all", encrypted(), torn(), archive(member("odd/x"))[:-30]])
def test_what_is_no_whole_wheel_is_told(data: bytes) -> None:
    """Empty, something else, encrypted, damaged, cut."""
    found = problems(reader(data), declared(wheel_part(data)))
    assert len(found) == 1
    assert found[0].startswith("corpus.toml: parts[0]: not a wheel: ")


def test_a_wheel_that_unpacks_without_end_is_refused() -> None:
    """A gigabyte is more than any workspace that people search."""
    made = bytearray(archive(member("odd/zeros")))
    listed = made.index(b"PK\x01\x02")
    made[listed + 24 : listed + 28] = ((1 << 30) + 1).to_bytes(4, "little")
    data = bytes(made)
    assert problems(reader(data), declared(wheel_part(data))) == [
        "corpus.toml: parts[0]: it unpacks to more than a gigabyte"
    ]


def test_every_part_that_is_wrong_is_named() -> None:
    """A missing folder doesn't hide a link in another one."""
    made = reader(files__a="x")
    assert isinstance(made.files, MemoryFiles)
    made.files.links[HOME / "linked/elsewhere"] = "/etc/passwd"
    parts = ("gone", "linked", "files")
    found = problems(made, declared(*(f'{{ kind = "files", path = "{path}" }}' for path in parts)))
    assert found == [
        "corpus.toml: parts[0].path: there are no files in /corpora/odd/gone",
        "corpus.toml: parts[1]: elsewhere: only regular files can be laid out",
    ]


def test_a_corpus_without_files_is_none() -> None:
    """Globs that leave nothing."""
    found = problems(reader(files__a="x"), declared('{ kind = "files", path = "files", include = ["*.py"] }'))
    assert found == ["corpus.toml: parts: the corpus has no files (look at include and exclude)"]


def test_two_parts_that_give_one_file() -> None:
    """Which of them is meant, nobody knows."""
    found = problems(
        reader(one__a="x", two__a="y"), declared(*(f'{{ kind = "files", path = "{p}" }}' for p in ("one", "two")))
    )
    assert found == ["corpus.toml: a: two parts give this file (leave one of them out with exclude)"]


def test_a_lock_says_what_the_corpus_is() -> None:
    """Literal digests: a workspace is the same on every machine."""
    made = reader(files__a="alpha\n", files__b="\x00")
    corpus = made.corpus(declared('{ kind = "files", path = "files" }'), HOME, "corpus.toml")
    lock = lock_of(corpus, Digest("sha256:" + "c" * 64))
    assert (lock.files, lock.bytes, lock.passages, lock.skipped) == (2, 7, 1, 1)
    assert lock.tree_sha256 == "sha256:2e77b3e9a4dba727a1ed527732fdeb9b6575d9743a59e42c3e7c02238cb40711"
    assert corpus.files["a"] == TreeFile(b"alpha\n")


@pytest.mark.parametrize(
    "part",
    [
        'filename = "../../odd-1.0.whl"',
        'filename = "odd-1.0.tar.gz"',
        'name = "--index-url"',
        'name = "odd @ file"',
        'version = "1.0 --pre"',
        'version = "1.0\\n--pre"',
        'sha256 = "md5:0"',
    ],
)
def test_a_wheel_is_named_plainly(part: str) -> None:
    """What is given to an installer and to a file system can't be read as anything else."""
    keys = {
        "name": '"odd"',
        "version": '"1.0"',
        "filename": '"odd-1.0-py3-none-any.whl"',
        "sha256": f'"sha256:{"0" * 64}"',
    }
    key, _, value = part.partition(" = ")
    keys[key] = value
    with pytest.raises(StudyError) as caught:
        declared('{ kind = "wheel", ' + ", ".join(f"{name} = {text}" for name, text in keys.items()) + " }")
    assert [problem.key for problem in caught.value.problems] == [f"parts[0].{key}"]


def test_a_splitter_whose_passages_could_not_reach_their_target() -> None:
    """The maximum is at least the target."""
    text = (
        declared('{ kind = "files", path = "files" }').model_dump_json().replace('"max_bytes":1600', '"max_bytes":400')
    )
    with pytest.raises(ValueError, match="max_bytes must be at least target_bytes"):
        CorpusFile.model_validate_json(text)


BEIR = b"""{"_id": "d 1", "title": "One", "text": "First."}
{"_id": "d2", "text": "Second."}
"""


def test_a_folder_of_beir_is_laid_out_as_documents() -> None:
    """One file a document; the queries and labels beside are left alone."""
    made = reader()
    made.files.write(HOME / "nano/corpus.jsonl", BEIR)
    made.files.write(HOME / "nano/queries.jsonl", b"{")
    found = made.corpus(declared('{ kind = "beir", path = "nano", into = "docs" }'), HOME, "corpus.toml")
    assert found.contents() == {"docs/d%201.txt": b"One\n\nFirst.", "docs/d2.txt": b"Second."}
    assert found.collections == ("docs",)
    assert [passage.text for passage in found.passages] == ["One\n\nFirst.", "Second."]


def test_a_test_collection_is_laid_out_from_files_and_folders() -> None:
    """Each file by its own form."""
    made = reader(trec__a="<DOC><DOCNO>A</DOCNO>Aa</DOC>", trec__b="<DOC><DOCNO>B</DOCNO>Bb</DOC>")
    made.files.write(HOME / "more.tsv", b"C\tCc\n")
    part = '{ kind = "ir", documents = ["trec", "more.tsv"] }'
    found = made.corpus(declared(part), HOME, "corpus.toml")
    assert found.contents() == {"A.txt": b"Aa", "B.txt": b"Bb", "C.txt": b"Cc"}
    assert problems(made, declared('{ kind = "ir", documents = "gone" }')) == [
        "corpus.toml: parts[0].documents: there is no file /corpora/odd/gone"
    ]
    assert problems(made, declared('{ kind = "beir", path = "trec" }')) == [
        "corpus.toml: parts[0].path: there is no file /corpora/odd/trec/corpus.jsonl"
    ]


def test_documents_that_are_wrong_are_told_with_other_parts() -> None:
    """Everything at once, beyond a hundred as a number."""
    made = reader()
    made.files.write(HOME / "bad.tsv", b"1\n" * 150)
    found = problems(made, declared('{ kind = "ir", documents = "bad.tsv" }', '{ kind = "files", path = "gone" }'))
    assert len(found) == 101
    assert found[0] == "corpus.toml: bad.tsv line 1: it has 1 columns, not id, text or id, title, text"
    assert found[100] == "corpus.toml: and 51 more are wrong"


def with_passages(made: CorpusReader, *lines: str, scopes: str = "") -> CorpusFile:
    made.files.write(HOME / "passages.jsonl", "".join(f"{line}\n" for line in lines).encode())
    text = f"""
format = "pairbench/corpus"
version = 1
name = "odd"
description = "Odd."
licence = "MIT"
passages = "passages.jsonl"
parts = [{{ kind = "files", path = "files" }}]
{scopes}
"""
    return read_declared(CorpusFile, text.encode(), "corpus.toml")


def test_passages_may_be_given() -> None:
    """As they are, with the boundaries of their scopes; the rest of a file is in no passage."""
    made = reader(files__a="Alpha. Beta.", files__b="Gamma.")
    scopes = '[[scopes]]\ninclude = ["a"]\nworkspace = "harbour"\n'
    corpus = with_passages(made, '{"source": "a", "start": 0, "end": 6}', scopes=scopes)
    found = made.corpus(corpus, HOME, "corpus.toml")
    (passage,) = found.passages
    assert (passage.text, passage.workspace) == ("Alpha.", "harbour")
    assert lock_of(found, Digest("sha256:" + "c" * 64)).skipped == 1


def test_passages_and_scopes_that_are_wrong_are_told_together() -> None:
    """And a file of passages that isn't there."""
    made = reader(files__a="Alpha.")
    corpus = with_passages(
        made, '{"source": "a", "start": 0, "end": 7}', scopes='[[scopes]]\ninclude = ["b"]\nstatus = "deleted"\n'
    )
    assert problems(made, corpus) == [
        "corpus.toml: scopes[0].include: 'b' matches no file",
        "/corpora/odd/passages.jsonl: line 1: a has 6 bytes, and the passage ends at 7",
    ]
    made.files.remove(HOME / "passages.jsonl")
    assert "corpus.toml: passages: there is no file /corpora/odd/passages.jsonl" in problems(made, corpus)


def test_a_corpus_without_passages_is_none() -> None:
    """Files that are blank, or no text, give nothing to search."""
    found = problems(reader(files__a=" \n", files__b="\x00"), declared('{ kind = "files", path = "files" }'))
    assert found == ["corpus.toml: parts: no file of the corpus gives a passage"]


@pytest.mark.parametrize("keys", ["", 'splitter = { name = "lines-1" }\npassages = "p.jsonl"\n'])
def test_passages_are_made_in_one_way(keys: str) -> None:
    """Neither none nor both."""
    text = f'format = "pairbench/corpus"\nversion = 1\nname = "o"\ndescription = "O."\nlicence = "MIT"\n{keys}'
    text += 'parts = [{ kind = "files", path = "files" }]\n'
    with pytest.raises(StudyError, match="exactly one of splitter and passages is needed"):
        read_declared(CorpusFile, text.encode(), "corpus.toml")
