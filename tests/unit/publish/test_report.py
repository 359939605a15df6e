import base64
import hashlib
import re
import unicodedata
from dataclasses import replace
from html.parser import HTMLParser

from runner.core.outcomes import Outcome
from runner.core.records import Finding, ToolCalls
from runner.core.summary import Summary
from runner.publish.page import PageTexts
from runner.publish.report import render_report
from runner.summarize.context import ArmFacts
from runner.summarize.summary import summarize
from tests.fakes.records import Run, RunSpec, make_run

SPEC = RunSpec(
    outcomes={"task-03.r1.memory": Outcome.TIMEOUT, "task-05.r2.off": Outcome.INFRASTRUCTURE},
    inert=frozenset({"task-07.r1.memory"}),
    findings={"task-02.r2.off": (Finding(kind="stream-cut", detail="exchange 3 was sent again"),)},
)
VOID = {"meta", "link", "br", "img", "line", "circle"}


def summary_of(run: Run) -> Summary:
    return summarize(run.context, run.plan, run.records, run.scores)


def page_of(spec: RunSpec) -> str:
    return render_report(summary_of(make_run(spec))).decode("utf-8")


class Reader(HTMLParser):
    """Text, tags and attributes of a page, and whether its tags are nested as they were opened."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.texts.append(data.strip())

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))


PAGE = page_of(SPEC)
READER = Reader(PAGE)


def test_the_first_line_says_what_kind_of_evidence_it_is() -> None:
    """Nobody reads a figure of a fixture before that."""
    first = next(text for text in READER.texts[1:] if text and "Pairbench" not in text)
    assert first.startswith(
        "evidence: fixture \N{EM DASH} the model is scripted-policy (fixture), policy plain-agent 1"
    )


def test_without_a_model_that_is_asked_for_nothing_is_priced() -> None:
    """As in a study of a scripted policy alone; no sentence ends in nothing."""
    summary = summary_of(make_run(SPEC))
    model = summary.model.model_copy(update={"price_model": ""})
    unpriced = summary.model_copy(update={"model": model})
    assert PageTexts(unpriced).banner().endswith("provider's model. Nothing is priced: the study asks for no model.")
    text = Reader(render_report(unpriced).decode()).text
    assert "the usage of a scripted policy has none where the study asks for no model." in text


def test_a_real_model_is_never_named_as_the_one_that_answered() -> None:
    """The model asked for stands only where prices are explained."""
    places = [text for text in READER.texts if "claude-sonnet-4-5" in text]
    assert len(places) == 2
    assert all("price" in place.lower() for place in places)


def test_the_page_loads_nothing_and_runs_nothing() -> None:
    """No address, script, frame, image or inline handler; the policy forbids them besides."""
    assert not {tag for tag, _ in READER.tags} & {"script", "iframe", "img", "link", "object", "form", "base"}
    names = {name for _, attributes in READER.tags for name in attributes}
    assert not {name for name in names if name.startswith("on") or name in {"src", "style"}}
    ids = {attributes["id"] for _, attributes in READER.tags if "id" in attributes}
    assert {attributes["href"] for _, attributes in READER.tags if "href" in attributes} == {f"#{name}" for name in ids}
    assert "http://" not in PAGE
    assert "https://" not in PAGE
    assert "url(" not in PAGE
    assert "@import" not in PAGE


def test_the_policy_allows_exactly_the_pages_own_style() -> None:
    """The hash in the policy is that of the text between the style tags."""
    style = re.search(r"<style>(.*?)</style>", PAGE, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = next(item["content"] for tag, item in READER.tags if item.get("http-equiv") == "Content-Security-Policy")
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_tables_can_be_read_aloud() -> None:
    """Every table has a caption, every header cell a scope, every section a heading that it is named by."""
    tags = [tag for tag, _ in READER.tags]
    assert tags.count("table") == tags.count("caption") > 10
    assert all("scope" in attributes for tag, attributes in READER.tags if tag == "th")
    ids = {attributes["id"] for _, attributes in READER.tags if "id" in attributes}
    assert {item["aria-labelledby"] for tag, item in READER.tags if tag == "section"} <= ids
    assert all(item.get("aria-hidden") == "true" for tag, item in READER.tags if tag == "svg")


def test_the_same_summary_gives_the_same_bytes() -> None:
    """A summary that was read back makes the same page."""
    summary = summary_of(make_run(SPEC))
    again = Summary.from_bytes(summary.to_bytes(), "summary.json")
    assert render_report(again) == PAGE.encode("utf-8")
    assert str(summary.digest()) in PAGE


def test_the_headline_has_its_interval_and_its_n() -> None:
    """A ratio never stands alone."""
    assert (
        "In arm memory, cost at list price was 0.74 times that of arm off (\N{MINUS SIGN}25.8\N{NARROW NO-BREAK SPACE}%; "
        "95\N{NARROW NO-BREAK SPACE}% interval 0.67 to 0.82), from 22 of 24 blocks and 12 of 12 tasks."
    ) in READER.texts


def test_shares_are_compared_by_differences() -> None:
    """A ratio of small shares would shout; their difference in points has an interval even where a control found nothing."""
    assert "+10.6\N{NARROW NO-BREAK SPACE}pp" in READER.texts
    assert "+0.1\N{NARROW NO-BREAK SPACE}pp to +24.0\N{NARROW NO-BREAK SPACE}pp" in READER.texts


def test_failures_are_counted_and_shown() -> None:
    """Census, reasons, both treatments, and the line that says that they differ."""
    assert "1 trial failed; counting failures changes 20 of 23 measures, shown beside complete blocks." in READER.text
    assert "Failures counted" in READER.texts
    assert (
        "46 of 48 planned trials completed, 1 failed, 1 ended in a way that says nothing of the arm; "
        "22 of 24 blocks are complete."
    ) in READER.texts
    assert "Incomplete blocks: 2 of 24" in READER.texts
    assert "1 of 2 (1 failed)" in READER.texts
    assert "Arm memory: 1 of 23 completed trials never called the memory: task-07.r1.memory." in READER.texts
    assert "stream-cut" in READER.texts


def test_what_was_not_checked_is_never_shown_as_passing() -> None:
    """It stands in a table of its own."""
    assert "A deterministic policy played the model; nothing here says how a provider's model behaves." in READER.text
    verdicts = [text for text in READER.texts if text in {"passed", "failed"}]
    assert verdicts == ["passed"] * 6


def test_what_a_study_or_a_client_wrote_is_text() -> None:
    """A finding that quotes markup doesn't become markup."""
    evil = "<script>alert(1)</script>"
    page = page_of(replace(SPEC, findings={"task-02.r2.off": (Finding(kind=evil, detail=evil),)}))
    assert evil not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 2


def test_text_that_acts_or_hides_is_spelled_out() -> None:
    """Whoever wrote it, wherever it stands: description, finding, reason, name of a tool."""
    evil = "a\u202eb\x1b[31mc\u200bd\x00e\u2066f\x9b"
    spelled = "a\\u202eb\\x1b[31mc\\u200bd\\x00e\\u2066f\\x9b"
    run = make_run(replace(SPEC, findings={"task-02.r2.off": (Finding(kind=evil, detail=evil),)}))
    failed = next(item for item in run.records if item.trial == "task-03.r1.memory")
    other = next(item for item in run.records if item.trial == "task-04.r1.memory")
    run = run.with_records(
        {
            failed.trial: failed.model_copy(update={"reason": evil}),
            other.trial: other.model_copy(update={"tool_calls": (ToolCalls(name=evil, calls=1, errors=0),)}),
        }
    )
    arms = (ArmFacts("off", evil, memory=False), ArmFacts("memory", "", memory=True))
    run = replace(run, context=replace(run.context, description=f"one\ntwo {evil}", arms=arms))
    page = render_report(summary_of(run)).decode("utf-8")
    assert page.count(spelled) == 6
    assert f"one two {spelled}" in page
    unsafe = {char for char in page if unicodedata.category(char) in {"Cc", "Cf"}}
    assert unsafe == {"\n"}


def test_few_tasks_say_that_there_is_no_interval() -> None:
    """The headline gives the reason instead."""
    page = page_of(RunSpec(tasks=("a", "b"), repetitions=1))
    assert page.count("2 tasks with complete blocks; an interval needs at least 5") < 10
    assert "no interval: 2 tasks with complete blocks; an interval needs at least 5." in page


def test_a_run_without_a_complete_block_makes_a_page_too() -> None:
    """Nothing is compared, everything is accounted for."""
    outcomes = {f"{task}.r1.memory": Outcome.TIMEOUT for task in ("a", "b")}
    page = page_of(RunSpec(tasks=("a", "b"), repetitions=1, outcomes=outcomes))
    assert "Of 2 planned blocks none is complete: no arm is compared with another over complete blocks." in page
    assert "no trial completed, so none could be looked at" in page
    assert "At a glance" not in page
    assert "Left out of every measure, from every arm alike: 2 of 2 blocks" in page
    assert "memory: ended timeout: 2" in page


def test_three_arms_are_each_compared_with_the_control() -> None:
    """Two treatments, two headlines."""
    page = page_of(RunSpec(arms=("off", "memory", "notes")))
    assert "In arm memory, cost at list price was " in page
    assert "In arm notes, cost at list price was " in page


def test_a_measurement_is_called_one() -> None:
    """The banner follows the evidence."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    live = replace(run.context, model=replace(run.context.model, mode="live", policy=""))
    usage = [record.observed[0].model_copy(update={"model": "claude-sonnet-4-5"}) for record in run.records]
    records = [
        record.model_copy(
            update={
                "observed": (used,),
                "attempts": (record.attempts[0].model_copy(update={"observed": (used,)}),),
            }
        )
        for record, used in zip(run.records, usage, strict=True)
    ]
    page = render_report(summarize(live, run.plan, records, run.scores)).decode()
    assert "evidence: measurement \N{EM DASH} the model is claude-sonnet-4-5." in page
    assert "fixture" not in Reader(page).text


def test_an_arm_without_memory_is_not_asked_whether_it_used_one() -> None:
    """A treatment may be an instruction file."""
    run = make_run(RunSpec(tasks=("a",), repetitions=1))
    arms = (ArmFacts("off", "", memory=False), ArmFacts("memory", "", memory=False))
    records = [record.model_copy(update={"memory_calls": 0, "sidecar_requests": 0}) for record in run.records]
    summary = summarize(replace(run.context, arms=arms), run.plan, records, run.scores)
    assert "No arm declares a memory." in render_report(summary).decode()
