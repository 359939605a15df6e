"""A study is read whole: every fault is told with its document and key, and all of them at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.core.errors import ExitCode, StudyError
from runner.core.layout import raw_input
from runner.plan.load import LoadedStudy, load_study, read_study
from tests.fakes.surroundings import CLAUDE_STUDY, COMMAND_STUDY, CORPUS, LABELS, TASKS, Surroundings

STUDY = "/studies/demo/study.toml"


def problems(outside: Surroundings) -> list[str]:
    """Everything that is wrong with the study, a line each."""
    with pytest.raises(StudyError) as caught:
        load_study(Path(STUDY), outside.files)
    assert caught.value.exit_code is ExitCode.USAGE
    return [str(problem) for problem in caught.value.problems]


def loaded(outside: Surroundings, text: str) -> LoadedStudy:
    return load_study(outside.study(text), outside.files)


def test_a_study_is_resolved_with_all_its_files(outside: Surroundings) -> None:
    """Defaults are written out, texts stand in place of paths, tasks of files come before those of the study."""
    more = 'tasks = [{ id = "third", corpus = "notes", prompt = "And now?" }]\n'
    found = loaded(outside, CLAUDE_STUDY.replace("[client]", f"{more}[client]"))
    study = found.study
    assert [(task.id, task.prompt) for task in study.tasks] == [
        ("first", "What is planned?"),
        ("second", "And then?"),
        ("third", "And now?"),
    ]
    assert [(arm.name, arm.image, arm.sidecar, arm.memory_tools) for arm in study.arms] == [
        ("off", "trial", False, ()),
        ("memory", "trial", True, ("mcp__memory__memory_search",)),
    ]
    assert (study.limits.wall_s, study.limits.requests, study.schedule.attempts) == (120, 64, 2)
    assert study.corpora["notes"].files == 2
    assert found.labels is not None
    assert [label.task for label in found.labels.labels] == ["first"]
    assert sorted(found.raw) == [
        "../notes/corpus.lock.json",
        "../notes/corpus.toml",
        "labels.toml",
        "second.txt",
        "study.toml",
        "tasks.toml",
    ]


def test_labels_do_not_stand_in_the_study(outside: Surroundings) -> None:
    """What enters trials is made of the resolved study, which has no place for them."""
    study = loaded(outside, CLAUDE_STUDY).study.to_bytes()
    assert b"Lisbon" not in study
    assert b"names-the-city" not in study


def test_instructions_are_read(outside: Surroundings) -> None:
    """Those of the client, and those of one arm."""
    text = CLAUDE_STUDY.replace('model = "claude-sonnet-4-5"', 'model = "m"\ninstructions = "all.md"')
    text = text.replace('name = "memory"\nsidecar', 'name = "memory"\ninstructions = "one.md"\nsidecar')
    outside.files.put(Path("/studies/demo/all.md"), "Be brief.\n")
    outside.files.put(Path("/studies/demo/one.md"), "Search first.\n")
    study = loaded(outside, text).study
    assert study.client_instructions == "Be brief.\n"
    assert [arm.instructions for arm in study.arms] == ["", "Search first.\n"]


FAULTS = {
    "unknown key": ('control = "off"', 'control = "off"\ncontrl = "off"', f"{STUDY}: contrl: unknown key"),
    "wrong type": ("repetitions = 2", 'repetitions = "two"', f"{STUDY}: repetitions: must be a valid integer"),
    "a date": ("repetitions = 2", "repetitions = 2020-01-01", f"{STUDY}: repetitions: must be a valid integer"),
    "out of range": ("repetitions = 2", "repetitions = 0", f"{STUDY}: repetitions: must be greater than or equal to 1"),
    "missing key": ('seed = "demo 1"', "", f"{STUDY}: seed: missing"),
    "missing file": (
        '"tasks.toml"',
        '"absent.toml"',
        f"{STUDY}: task_files[0]: there is no file /studies/demo/absent.toml",
    ),
    "missing labels": (
        '"labels.toml"',
        '"absent.toml"',
        f"{STUDY}: labels: there is no file /studies/demo/absent.toml",
    ),
    "missing corpus": (
        "../notes/corpus.toml",
        "../gone/corpus.toml",
        f"{STUDY}: corpora.notes: there is no file /studies/demo/../gone/corpus.toml",
    ),
    "absolute path": ('"tasks.toml"', '"/etc/passwd"', r"must match pattern '^[^/\\\x00][^\\\x00]*$'"),
    "duplicate arm": (
        'name = "memory"\nsidecar',
        'name = "off"\nsidecar',
        f"{STUDY}: arms: the name 'off' stands twice",
    ),
    "duplicate tool": (
        'tools = ["memory_search"]',
        'tools = ["memory_search", "memory_search"]',
        f"{STUDY}: arms.memory.mcp_servers.memory.tools: the name 'memory_search' stands twice",
    ),
    "duplicate built-in tool": (
        'model = "claude-sonnet-4-5"',
        'model = "m"\ntools = ["Read", "Read"]',
        f"{STUDY}: client.tools: the name 'Read' stands twice",
    ),
    "no control": ('control = "off"', 'control = "of"', f"{STUDY}: control: 'of' is not the name of an arm"),
    "reserved variable": (
        'model = "claude-sonnet-4-5"',
        'model = "m"\nenv = { ANTHROPIC_API_KEY = "k" }',
        f"{STUDY}: client.env.ANTHROPIC_API_KEY: the runner sets this variable itself",
    ),
    "unknown client": ('kind = "claude-code"', 'kind = "cloud-code"', "client: its kind must be one of"),
    "unknown mode": ('mode = "scripted"', 'mode = "dead"', "model: its kind must be one of"),
    "one arm": (CLAUDE_STUDY[CLAUDE_STUDY.index('[[arms]]\nname = "memory"') :], "", f"{STUDY}: arms: "),
    "not TOML": ('control = "off"', "control = ", f"{STUDY}: not TOML: "),
    "a number of 5000 digits": (
        "repetitions = 2",
        f"repetitions = 1{'0' * 5000}",
        "not TOML: a number has too many digits",
    ),
    "brackets without end": (
        "repetitions = 2",
        f"repetitions = {'[' * 9000}",
        "not TOML: values are nested too deeply",
    ),
    "bytes beyond any machine": (
        "[client]",
        f"limits = {{ pod_bytes = {1 << 60} }}\n[client]",
        f"{STUDY}: limits.pod_bytes: must be less than or equal to",
    ),
    "limits that don't fit": (
        "[client]",
        "limits = { memory_bytes = 134217728 }\n[client]",
        f"{STUDY}: limits: home_bytes + tmp_bytes must be at most half of memory_bytes",
    ),
}


@pytest.mark.parametrize(("old", "new", "expected"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_told_with_its_place(outside: Surroundings, old: str, new: str, expected: str) -> None:
    """Document, key, and what is wrong."""
    assert old in CLAUDE_STUDY
    outside.study(CLAUDE_STUDY.replace(old, new, 1))
    assert any(expected in line for line in problems(outside)), problems(outside)


def test_a_wrong_type_hides_nothing(outside: Surroundings) -> None:
    """What is wrong is left out or stood in for, and the rest is looked through: a missing corpus is told as well."""
    wrong = CLAUDE_STUDY.replace("repetitions = ", "repetitions = '2' # ").replace("seed = ", "# ")
    outside.study(wrong.replace("corpus.toml", "gone.toml"))
    assert sorted(line.partition(": ")[2].partition(": ")[0] for line in problems(outside)) == [
        "corpora.notes",
        "repetitions",
        "seed",
    ]


def test_all_faults_are_told_at_once(outside: Surroundings) -> None:
    """A person mends a study in one go: an unknown key hides neither a missing file nor a duplicate id."""
    outside.study(
        CLAUDE_STUDY.replace('control = "off"', 'control = "nobody"\ncolour = "red"\nlimits = { wall_s = "long" }')
    )
    files = outside.files
    files.put(Path("/studies/demo/tasks.toml"), TASKS.replace('"second"', '"first"').replace("second.txt", "gone.txt"))
    files.put(Path("/studies/demo/labels.toml"), LABELS.replace('task = "first"', 'task = "nobody"'))
    files.put(Path("/studies/notes/corpus.toml"), CORPUS.replace("Notes.", "Other notes."))
    assert sorted(problems(outside)) == [
        (
            "/studies/demo/../notes/corpus.toml: it changed after it was frozen "
            "(run `pairbench corpora lock` and look at the difference)"
        ),
        "/studies/demo/labels.toml: labels[0].task: 'nobody' is not the id of a task",
        "/studies/demo/study.toml: colour: unknown key",
        "/studies/demo/study.toml: control: 'nobody' is not the name of an arm",
        "/studies/demo/study.toml: limits.wall_s: must be a valid integer",
        "/studies/demo/tasks.toml: tasks[1].id: the id 'first' is taken",
        "/studies/demo/tasks.toml: tasks[1].prompt_file: there is no file /studies/demo/gone.txt",
    ]


def test_every_wrong_type_of_a_study_is_told(outside: Surroundings) -> None:
    """Too damaged to go on with; still, no fault of the file itself hides another."""
    outside.study(
        CLAUDE_STUDY.replace("repetitions = 2", "repetitions = 1.5").replace('name = "demo"', 'name = "De mo"')
    )
    assert problems(outside) == [
        f"{STUDY}: name: must match pattern '^[a-z][a-z0-9-]{{0,39}}$'",
        f"{STUDY}: repetitions: must be a valid integer",
    ]


def test_a_key_of_a_client_is_named_without_its_kind(outside: Surroundings) -> None:
    """The kind chooses the model that validates; it stands nowhere in the file's keys."""
    outside.study(COMMAND_STUDY.replace('command = ["/bin/answer"]', 'command = ["/bin/answer"], colour = "m"'))
    assert problems(outside) == [f"{STUDY}: client.colour: unknown key"]


def test_a_study_that_is_not_there(outside: Surroundings) -> None:
    """So is a folder of that name."""
    assert problems(outside) == [f"{STUDY}: there is no such study"]


def test_files_must_be_utf_8(outside: Surroundings) -> None:
    """Prompts and instructions are text."""
    outside.study(CLAUDE_STUDY)
    outside.files.held[Path("/studies/demo/second.txt")] = b"\xff\xfe"
    assert "/studies/demo/tasks.toml: tasks[1].prompt_file: /studies/demo/second.txt is not UTF-8" in problems(outside)


def test_a_blank_prompt_and_a_long_one(outside: Surroundings) -> None:
    """Neither asks anything that a client could answer."""
    outside.study(COMMAND_STUDY.replace("What is planned?", " ").replace("And then?", "x" * 65537))
    assert problems(outside) == [
        f"{STUDY}: tasks[0].prompt: the prompt is blank",
        f"{STUDY}: tasks[1].prompt: the prompt is longer than 65536 bytes",
    ]


def test_labels_do_not_leak_into_prompts(outside: Surroundings) -> None:
    """A prompt that holds its id, a check's id or an anchor gives something away."""
    outside.study(CLAUDE_STUDY)
    outside.files.put(
        Path("/studies/demo/tasks.toml"),
        TASKS.replace("What is planned?", "Task first: We move to Lisbon, names-the-city?"),
    )
    place = "/studies/demo/tasks.toml: tasks[0].prompt: the prompt holds"
    assert problems(outside) == [
        f"{place} 'first', which belongs to a label or an id",
        f"{place} 'names-the-city', which belongs to a label or an id",
        f"{place} 'We move to Lisbon', which belongs to a label or an id",
    ]


def test_labels_are_unique_and_say_something(outside: Surroundings) -> None:
    """One label a task, one id a check, a source or a check in each, and ranges that hold something."""
    outside.study(CLAUDE_STUDY)
    more = """
[[labels]]
task = "first"

[[labels]]
task = "second"
sources = [{ path = "notes/plan.md", start = 9, end = 9, grade = 1, anchor = "in May..." }]
checks = [{ id = "names-the-city", any = ["x"] }]
"""
    outside.files.put(Path("/studies/demo/labels.toml"), LABELS + more)
    assert problems(outside) == [
        "/studies/demo/labels.toml: labels[1].task: the task 'first' is labelled twice",
        "/studies/demo/labels.toml: labels[1]: a label needs a source or a check",
        "/studies/demo/labels.toml: labels[2].sources[0]: start must be below end",
        "/studies/demo/labels.toml: labels[2].checks[0].id: the id 'names-the-city' is taken",
    ]


def test_a_command_takes_no_servers_and_no_instructions(outside: Surroundings) -> None:
    """A bare program has no way to be given them."""
    servers = '{ name = "m", command = ["x"], tools = ["t"] }'
    arm = f'{{ name = "joined", instructions = "one.md", mcp_servers = [{servers}] }}'
    outside.files.put(Path("/studies/demo/one.md"), "Search first.\n")
    outside.study(COMMAND_STUDY.replace('{ name = "joined", sidecar = true }', arm))
    assert problems(outside) == [
        f"{STUDY}: arms.joined.mcp_servers: a client of kind command takes none (use env or image)",
        f"{STUDY}: arms.joined.instructions: a client of kind command takes none (use env or image)",
    ]


def test_a_corpus_that_no_task_uses(outside: Surroundings) -> None:
    """It would be fetched, indexed and pinned for nothing."""
    outside.study(
        COMMAND_STUDY.replace("corpora = {", 'corpora = { other = "../notes/corpus.toml",').replace(
            'id = "second", corpus = "notes"', 'id = "second", corpus = "nodes"'
        )
    )
    assert problems(outside) == [
        f"{STUDY}: corpora.other: the corpus calls itself 'notes'",
        f"{STUDY}: tasks[1].corpus: 'nodes' is not a key of [corpora]",
        f"{STUDY}: corpora.other: no task uses this corpus (leave it out)",
    ]


def test_a_corpus_that_was_never_frozen_and_one_whose_lock_is_damaged(outside: Surroundings) -> None:
    """Without its lock nobody knows which corpus is meant."""
    outside.study()
    outside.files.put(Path("/studies/notes/corpus.lock.json"), '{"format": "pairbench/corpus-lock", "version": 2}')
    assert problems(outside) == [
        (
            "/studies/demo/../notes/corpus.lock.json: version: version 2 is not known here, only 1 "
            "(read it with the version of pairbench that wrote it)"
        )
    ]
    outside.files.remove(Path("/studies/notes/corpus.lock.json"))
    assert problems(outside) == [
        (
            "/studies/demo/../notes/corpus.toml: corpus.lock.json: there is no file /studies/demo/../notes/corpus.lock.json "
            "(freeze it: pairbench corpora lock /studies/demo/../notes/corpus.toml)"
        )
    ]


def test_what_can_be_read_of_a_damaged_study_is_there(outside: Surroundings) -> None:
    """Whoever lays out its corpora goes on, so that their faults are told too."""
    outside.study(COMMAND_STUDY + 'colour = "red"\n')
    read = read_study(Path(STUDY), outside.files)
    assert [str(problem) for problem in read.problems] == [f"{STUDY}: colour: unknown key"]
    assert list(read.corpora) == ["notes"]
    assert read.loaded is not None


@pytest.mark.parametrize(
    ("path", "kept"),
    [
        ("study.toml", "inputs/files/study.toml"),
        ("tasks/a.toml", "inputs/files/tasks/a.toml"),
        ("../notes/corpus.toml", "inputs/files/_up/notes/corpus.toml"),
        ("_up/notes/corpus.toml", "inputs/files/__up/notes/corpus.toml"),
        ("a/../../b", "inputs/files/a/_up/_up/b"),
        ("x../y", "inputs/files/x../y"),
    ],
)
def test_no_two_files_are_kept_under_one_name(path: str, kept: str) -> None:
    """A folder that is called `_up` isn't taken for the one above."""
    assert raw_input(path) == kept
