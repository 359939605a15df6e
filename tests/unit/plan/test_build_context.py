"""A build context is the same bytes on every machine, and holds what `.dockerignore` leaves in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from docker.utils.build import PatternMatcher

from runner.adapters.disk import Disk
from runner.core.errors import StudyError
from runner.core.study import UserImage
from runner.core.tars import tree_of
from runner.plan.contexts import MOST_BYTES, base_argument, read_context
from runner.plan.dockerignore import Ignored
from tests.fakes.files import MemoryFiles

ROOT = Path("/studies/demo")
PLACE = ("study.toml", "images.mine")


def files_with(**contents: str) -> MemoryFiles:
    files = MemoryFiles()
    for name, text in contents.items():
        files.put(ROOT / name.replace("__", "/"), text)
    return files


def paths(files: MemoryFiles, image: UserImage) -> list[str]:
    return sorted(tree_of(read_context(image, ROOT, files, PLACE).tar, "context"))


def refused(files: MemoryFiles, image: UserImage) -> str:
    with pytest.raises(StudyError) as caught:
        read_context(image, ROOT, files, PLACE)
    return str(caught.value)


def test_the_dockerfile_s_folder_is_the_context() -> None:
    """Unless the study names another one."""
    files = files_with(image__Dockerfile="FROM scratch\n", image__server__main="x", other="y")
    assert paths(files, UserImage(dockerfile="image/Dockerfile")) == ["Dockerfile", "server/main"]
    context = read_context(UserImage(dockerfile="image/Dockerfile", context="."), ROOT, files, PLACE)
    assert (context.dockerfile, context.files) == ("image/Dockerfile", 3)
    assert sorted(tree_of(context.tar, "context")) == ["image/Dockerfile", "image/server/main", "other"]
    assert paths(files_with(Dockerfile="FROM scratch\n"), UserImage(dockerfile="Dockerfile")) == ["Dockerfile"]


def test_the_digest_is_of_paths_contents_and_the_right_to_execute() -> None:
    """Nothing of the machine; the order in which files came to be doesn't count."""
    one = files_with(Dockerfile="FROM scratch\n", a="1", b="2")
    two = files_with(b="2", a="1", Dockerfile="FROM scratch\n")
    image = UserImage(dockerfile="Dockerfile")
    assert read_context(image, ROOT, one, PLACE).sha256 == read_context(image, ROOT, two, PLACE).sha256
    two.executable.add(ROOT / "a")
    assert read_context(image, ROOT, one, PLACE).sha256 != read_context(image, ROOT, two, PLACE).sha256


def test_what_is_ignored_stays_out() -> None:
    """But the Dockerfile and the list itself, which the builder reads."""
    files = files_with(Dockerfile="FROM scratch\n", **{".dockerignore": "*\n!kept\n"}, kept="1", lost="2")
    assert paths(files, UserImage(dockerfile="Dockerfile")) == [".dockerignore", "Dockerfile", "kept"]


def test_images_of_ours_are_named_by_arguments() -> None:
    """Those without a value in the Dockerfile, wherever it declares them."""
    text = (
        "ARG PAIRBENCH_TRIAL\nFROM ${PAIRBENCH_TRIAL}\nARG OTHER\n  arg PAIRBENCH_MY_OWN \nARG PAIRBENCH_CODEX=mine\n"
    )
    context = read_context(UserImage(dockerfile="Dockerfile"), ROOT, files_with(Dockerfile=text), PLACE)
    assert context.bases == ("my-own", "trial")
    assert [base_argument(name) for name in context.bases] == ["PAIRBENCH_MY_OWN", "PAIRBENCH_TRIAL"]


def test_what_is_wrong_with_a_context_is_told() -> None:
    """A Dockerfile that isn't there, or lies elsewhere; a pattern that is none."""
    files = files_with(image__Dockerfile="FROM scratch\n", **{"image__.dockerignore": "[z-a]\n"})
    assert refused(files, UserImage(dockerfile="Dockerfile")) == (
        "study.toml: images.mine.dockerfile: there is no file /studies/demo/Dockerfile"
    )
    assert refused(files, UserImage(dockerfile="image/Dockerfile", context="other")) == (
        "study.toml: images.mine.dockerfile: image/Dockerfile isn't in the context other"
    )
    assert "/studies/demo/image/.dockerignore: images.mine: '[z-a]' is no pattern" in refused(
        files, UserImage(dockerfile="image/Dockerfile")
    )


def test_links_are_refused_unless_they_are_ignored() -> None:
    """What a link leads to may lie anywhere."""
    files = files_with(Dockerfile="FROM scratch\n")
    files.point(ROOT / "away", "/etc/passwd")
    image = UserImage(dockerfile="Dockerfile")
    assert refused(files, image) == (
        "study.toml: images.mine.context: away is a link, or no plain file "
        "(copy what it leads to, or name it in .dockerignore)"
    )
    files.put(ROOT / ".dockerignore", "away\n")
    assert paths(files, image) == [".dockerignore", "Dockerfile"]


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (
            UserImage(dockerfile="../secret/Dockerfile"),
            "study.toml: images.mine.dockerfile: ../secret/Dockerfile is outside the study's folder",
        ),
        (
            UserImage(dockerfile="image/../../secret/Dockerfile", context="."),
            "study.toml: images.mine.dockerfile: image/../../secret/Dockerfile is outside the study's folder",
        ),
        (
            UserImage(dockerfile="Dockerfile", context=".."),
            "study.toml: images.mine.context: .. is outside the study's folder",
        ),
        (
            UserImage(dockerfile="away/Dockerfile"),
            "study.toml: images.mine.context: away lies behind a link",
        ),
        (
            UserImage(dockerfile="away/Dockerfile", context="."),
            "study.toml: images.mine.dockerfile: away/Dockerfile lies behind a link",
        ),
        (
            UserImage(dockerfile="away/deep/Dockerfile", context="away/deep"),
            "study.toml: images.mine.context: away/deep lies behind a link",
        ),
        (
            UserImage(dockerfile="linked"),
            "study.toml: images.mine.dockerfile: linked lies behind a link",
        ),
    ],
)
def test_nothing_outside_the_study_s_folder_is_taken(image: UserImage, message: str) -> None:
    """By name or by link, though a list of what is ignored names the link; nothing of it is sent to a builder."""
    files = files_with(Dockerfile="FROM scratch\n", **{".dockerignore": "away\nlinked\n"})
    files.put(Path("/studies/secret/Dockerfile"), "FROM scratch\n")
    files.put(Path("/studies/secret/deep/Dockerfile"), "FROM scratch\n")
    files.point(ROOT / "away", "../secret")
    files.point(ROOT / "linked", "../secret/Dockerfile")
    assert refused(files, image) == f"{message} (copy what the image needs into the study's folder)"


def test_a_context_is_the_same_from_wherever_one_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What a path leads back into is the study's folder, by its name, and not the folder of the process."""
    folder = tmp_path / "image"
    folder.mkdir()
    monkeypatch.chdir(folder)
    files = files_with(image__Dockerfile="FROM scratch\n")
    assert paths(files, UserImage(dockerfile="image/Dockerfile", context="other/../image")) == ["Dockerfile"]
    assert "is outside the study's folder" in refused(files, UserImage(dockerfile="Dockerfile", context="../image"))


def test_the_study_s_own_folder_may_lie_behind_a_link(tmp_path: Path) -> None:
    """On a real disk: what counts is what lies below it."""
    (tmp_path / "there/image").mkdir(parents=True)
    (tmp_path / "there/image/Dockerfile").write_text("FROM scratch\n", "utf-8")
    (tmp_path / "here").symlink_to("there")
    context = read_context(UserImage(dockerfile="image/Dockerfile"), tmp_path / "here", Disk(), PLACE)
    assert (context.dockerfile, context.files) == ("Dockerfile", 1)


def test_a_context_has_a_size_that_memory_bears(monkeypatch: pytest.MonkeyPatch) -> None:
    """A forgotten data set is told, with what to do."""
    assert MOST_BYTES == 268_435_456
    monkeypatch.setattr("runner.plan.contexts.MOST_BYTES", 20)
    files = files_with(Dockerfile="FROM scratch\n", big="x" * 20)
    assert refused(files, UserImage(dockerfile="Dockerfile")) == (
        "study.toml: images.mine.context: /studies/demo holds more than 20 bytes "
        "(name what the image doesn't need in .dockerignore)"
    )


PATTERNS = [
    "*",
    "*.md",
    "**/*.md",
    "docs",
    "docs/",
    "/docs",
    "docs/**",
    "docs/*",
    "a?c",
    "[ab]*",
    "./src/../docs",
    "docs\n!docs/keep.md",
    "*\n!src\n!docs/keep.md",
    "!docs\ndocs",
    "# a comment\n\n  README.md  ",
]
PATHS = [
    "README.md",
    "a*c",
    "abc",
    "bcd",
    "cache",
    "docs/deep/a.md",
    "docs/deep/cache/x",
    "docs/keep.md",
    "docs/other.md",
    "src/main.py",
    "src/cache/x",
]


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("**/cache", ["cache", "docs/deep/cache/x", "src/cache/x"]),
        ("[^a]*", [path for path in PATHS if not path.startswith("a")]),
        ("a\\*c", ["a*c"]),
        ("[]", []),
    ],
)
def test_patterns_that_the_sdk_reads_otherwise_than_builders(text: str, left_out: list[str]) -> None:
    """A folder that matches takes all below it away, at any depth; `^` negates and a backslash quotes, as in Go."""
    assert [path for path in PATHS if path in Ignored(text)] == left_out


@pytest.mark.parametrize("text", PATTERNS)
def test_patterns_mean_what_docker_s_own_tools_take_them_for(text: str) -> None:
    """Held against the SDK's reading of the same file, path by path."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    theirs = PatternMatcher(lines)
    ignored = Ignored(text)
    assert [path for path in PATHS if path in ignored] == [path for path in PATHS if theirs.matches(path)]
