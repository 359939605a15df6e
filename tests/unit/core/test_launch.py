"""Launch documents, files of `/in`, sessions and reserved variables."""

from __future__ import annotations

from dataclasses import replace

import pytest

from runner.core.errors import EvidenceError, StudyError
from runner.core.launch import (
    InFile,
    LaunchLimits,
    LaunchRequest,
    LaunchSpec,
    PodLaunch,
    client_environment,
    is_reserved_variable,
    make_launch,
    mcp_tool_name,
    session_id_of,
)
from runner.core.launch_difference import launch_difference

REQUEST = LaunchRequest(
    prompt="Why?\n",
    limits=LaunchLimits(
        deadline_ms=60_000, grace_ms=0, ready_ms=15_000, stdout_limit_bytes=1024, stderr_limit_bytes=1024
    ),
    gateway_token="client-token",
    memory_token="memory-token",
    session_id="s",
)


def launch(*argv: str, files: tuple[InFile, ...] = (), **env: str) -> PodLaunch:
    """A launch of these words with these files and variables."""
    return make_launch(REQUEST, argv=argv, env=env, files=files)


def test_a_launch_document_survives_its_canonical_form() -> None:
    """What the host writes is what it can read again."""
    spec = launch("run", "it", A="1").spec
    assert LaunchSpec.from_bytes(spec.to_bytes(), "launch.json") == spec


def test_another_version_is_refused() -> None:
    """A reader says what it knows."""
    data = launch("run").spec.to_bytes().replace(b'"version":1', b'"version":2')
    with pytest.raises(EvidenceError, match="version 2 is not known here, only 1"):
        LaunchSpec.from_bytes(data, "launch.json")


def test_every_launch_has_its_prompt_as_a_file() -> None:
    """Byte for byte, beside the launch document."""
    found = launch("run", files=(InFile("mcp.json", b"{}"),)).in_files()
    assert [file.name for file in found] == ["launch.json", "prompt.txt", "mcp.json"]
    assert found[1].data == b"Why?\n"


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "a b", "x" * 101, "a\n"])
def test_a_file_s_name_can_t_leave_its_folder(name: str) -> None:
    """Nothing but a plain name."""
    with pytest.raises(StudyError, match="can't be the name of a file in /in"):
        InFile(name, b"")


@pytest.mark.parametrize("name", ["launch.json", "prompt.txt"])
def test_two_files_of_one_name_are_refused(name: str) -> None:
    """Neither would win in silence."""
    with pytest.raises(StudyError, match="would stand twice in /in"):
        launch("run", files=(InFile(name, b""),))


def test_a_session_is_a_uuid_of_the_trial_alone() -> None:
    """The same on every machine and day, another for another trial."""
    assert session_id_of("why.r1.on") == "8d92cc5a-6d39-49b6-b13d-bfbabb6e8f41"
    assert session_id_of("why.r1.off") == "65ebcc3a-dd5e-4acb-b197-aaf802e0d5a2"


@pytest.mark.parametrize(
    ("name", "reserved"),
    [
        ("HOME", True),
        ("PATH", True),
        ("MCP_TIMEOUT", True),
        ("ANTHROPIC_API_KEY", True),
        ("ANTHROPIC_FUTURE", True),
        ("PAIRBENCH_PROMPT_FILE", True),
        ("LD_PRELOAD", True),
        ("CLAUDE_CODE_MAX_RETRIES", True),
        ("ENABLE_TOOL_SEARCH", False),
        ("MY_LEVEL", False),
    ],
)
def test_what_the_runner_sets_is_reserved(name: str, *, reserved: bool) -> None:
    """A study may set anything else."""
    assert is_reserved_variable(name) is reserved


def test_a_declared_variable_can_t_replace_one_of_the_client_s() -> None:
    """All that collide are named at once."""
    with pytest.raises(StudyError, match="the runner sets HOME, OWN itself"):
        client_environment({"OWN": "1"}, {"OWN": "2", "HOME": "/", "FREE": "3"})


def test_tools_of_servers_have_their_model_s_name() -> None:
    """As clients build it."""
    assert mcp_tool_name("memory", "memory_search") == "mcp__memory__memory_search"


def test_equal_launches_have_no_difference() -> None:
    """Not even a line that says so."""
    assert launch_difference(launch("run", A="1"), launch("run", A="1")) == ()


def test_each_difference_is_a_line() -> None:
    """Arguments in their order, variables, limits, and files by their digests or, in JSON, by their leaves."""
    control = launch("run", "--fast", "x", files=(InFile("a.json", b'{"k": {"l": 1}}'), InFile("i.md", b"A")), E="1")
    treatment = launch("run", "x", "y", files=(InFile("a.json", b'{"k": {"l": 2}}'), InFile("j.md", b"")), F="1")
    assert launch_difference(control, treatment) == (
        '- argv: "--fast"',
        '+ argv: "y"',
        '- launch.json: env.E = "1"',
        '+ launch.json: env.F = "1"',
        "- a.json: k.l = 1",
        "+ a.json: k.l = 2",
        "- i.md: 1 bytes, sha256:559aead08264d5795d3909718cdd05abd49572e84fe55590eef31a88a08fdffd",
        "+ j.md: 0 bytes, sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    )


def test_a_json_file_that_can_t_be_read_differs_as_bytes() -> None:
    """A broken file is still a difference."""
    one, two = (launch("run", files=(InFile("a.json", data),)) for data in (b"{", b"["))
    assert [line[:24] for line in launch_difference(one, two)] == [
        "- a.json: 1 bytes, sha25",
        "+ a.json: 1 bytes, sha25",
    ]


def test_limits_are_part_of_the_difference() -> None:
    """Two arms with other limits wouldn't be compared fairly, and it would show."""
    longer = replace(REQUEST, limits=replace(REQUEST.limits, deadline_ms=90_000))
    other = make_launch(longer, argv=("run",), env={})
    assert launch_difference(launch("run"), other) == (
        "- launch.json: deadline_ms = 60000",
        "+ launch.json: deadline_ms = 90000",
    )
