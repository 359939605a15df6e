import io

from rich.console import Console

from runner.cli.tables import render_summary
from runner.core.outcomes import Outcome
from runner.core.records import Finding
from runner.summarize.summary import summarize
from tests.fakes.records import RunSpec, make_run


def printed(spec: RunSpec, width: int = 100) -> str:
    run = make_run(spec)
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, legacy_windows=False)
    render_summary(summarize(run.context, run.plan, run.records, run.scores), console)
    return out.getvalue()


SPEC = RunSpec(outcomes={"task-03.r1.memory": Outcome.TIMEOUT, "task-05.r2.off": Outcome.INFRASTRUCTURE})


def test_the_evidence_stands_first() -> None:
    """Before any figure, in a box."""
    lines = printed(SPEC).splitlines()
    assert lines[1].startswith("│ evidence: fixture \N{EM DASH} the model is scripted-policy (fixture)")


def test_a_contrast_has_both_means_a_ratio_and_its_interval() -> None:
    """One line a measure."""
    line = next(line for line in printed(SPEC).splitlines() if line.startswith("│ Tokens, all classes "))
    cells = [cell.strip() for cell in line.strip("│").split("│")]
    assert cells == [
        "Tokens, all classes",
        "68,286",
        "49,031",
        "0.72\N{NARROW NO-BREAK SPACE}\N{MULTIPLICATION SIGN}",
        "0.64 to 0.80",
        "22 (12)",
    ]


def test_failures_checks_and_omissions_are_printed() -> None:
    """The terminal hides nothing that the page shows."""
    text = printed(SPEC)
    assert "1 trial failed; counting failures changes 20 of 23 measures, shown beside complete blocks." in text
    assert "Incomplete blocks: 2 of 24" in text
    assert "off: The engine, the pod" in text
    assert "Not checked" in text
    assert "never called" not in text
    assert "Arm memory: all 23 completed trials called the memory." in text


def test_eighty_columns_are_enough() -> None:
    """No line is wider than the terminal."""
    assert max(len(line) for line in printed(SPEC, width=80).splitlines()) <= 80


def test_what_a_client_wrote_moves_no_cursor_and_is_no_markup() -> None:
    """Escape sequences are spelled out, square brackets are shown as they are."""
    detail = "[red]\x1b[2Jgone\u202e"
    text = printed(RunSpec(findings={"task-01.r1.off": (Finding(kind="quote", detail=detail),)}))
    assert "[red]\\x1b[2Jgone\\u202e" in text
    assert "\x1b" not in text
