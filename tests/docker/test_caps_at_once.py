"""Caps hold in containers: sixteen pods spend at once, a provider bills what it likes, and the cap is never broken.

The trials are a program of the test's own that asks until it is refused; then real clients, which stop when they are.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.docker.test_live_run import CLIENTS, keyed, live, provider, records
from tests.docker.test_live_run import STUDY as CLIENT_STUDY
from tests.fakes.provider import Provider, Reply, Seen

if TYPE_CHECKING:
    from pathlib import Path

    from tests.docker.conftest import Program

pytestmark = pytest.mark.docker

__all__ = ["keyed", "provider"]

SLOTS = 16
STUDY_CAP = 640_000
# As much as each trial would spend: the study's cap allows three and a half of them.
WANTED = STUDY_CAP * 2 // 7
OUTPUT_TOKENS = 1000
STUDY = """format = "pairbench/study"
version = 1
name = "at-once"
seed = "at once 1"
repetitions = {blocks}
control = "one"

[corpora]
notes = "../{corpora}/notes/corpus.toml"

[client]
kind = "command"
model = "claude-sonnet-4-5"
command = ["python3", "-c", {program}]

[model]
{model}
[limits]
wall_s = 240
ready_s = 60
memory_bytes = 100663296
sidecar_memory_bytes = 201326592
gateway_memory_bytes = 100663296
home_bytes = 8388608
tmp_bytes = 8388608
record_bytes = 2097152
stdout_bytes = 1048576
pod_bytes = 8388608
requests = 200

[schedule]
slots = {slots}

[caps]
trial_microusd = {trial_cap}
study_microusd = {study_cap}
output_tokens = {output_tokens}
hidden_input_tokens = 0

[[arms]]
name = "one"

[[arms]]
name = "two"
env = {{ TWO = "yes" }}

[[tasks]]
id = "q-one"
corpus = "notes"
prompt = "Spend."
"""
# Asks until it is refused for good; a request that fails otherwise is one more that may have been billed.
SPENDER = r"""
import json, os, random, urllib.error, urllib.request, uuid
user, heard = str(uuid.uuid4()), []
draw = random.Random(user)
for number in range(120):
    body = json.dumps({
        "model": "claude-sonnet-4-5", "max_tokens": draw.randrange(400, 1001), "metadata": {"user_id": user},
        "messages": [{"role": "user", "content": "x" * draw.randrange(1, 3000)}],
    }).encode()
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", body)
    request.add_header("x-api-key", os.environ["ANTHROPIC_API_KEY"])
    request.add_header("content-type", "application/json")
    try:
        with urllib.request.urlopen(request) as answer:
            answer.read()
            heard.append(answer.status)
    except urllib.error.HTTPError as error:
        heard.append(error.code)
        if error.code == 402:
            break
    except Exception:
        heard.append(0)
print(json.dumps({"user": user, "heard": heard}))
"""


@dataclass
class Dear:
    """A provider that bills up to all that a request allows, answers, keeps silent, breaks off or is overloaded."""

    together: int
    """So many trials have to have asked before the first is answered."""
    bills: Counter[str] = field(default_factory=Counter)
    """Tenths of micro-dollars, by trial."""
    asked: Counter[str] = field(default_factory=Counter)
    all_there: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, seen: Seen, _number: int) -> Reply:
        asked = json.loads(seen.body)
        user = asked["metadata"]["user_id"]
        self.asked[user] += 1
        if len(self.asked) >= self.together:
            self.all_there.set()
        await asyncio.wait_for(self.all_there.wait(), 120)
        drawn = hashlib.sha256(seen.body).digest()
        await asyncio.sleep(drawn[0] / 10_000)
        if drawn[1] < 20:
            return Reply(
                529, pieces=[b'{"type":"error","error":{"type":"overloaded_error","message":"no"}}'], whole=True
            )
        # Whoever says what it used bills that; whoever doesn't may bill everything.
        fate = "whole" if drawn[1] < 200 else "silent" if drawn[1] < 228 else "broken"
        share = drawn[2] % 2 + 1 if fate == "whole" else 2
        region = "us" if drawn[3] < 100 or fate != "whole" else "standard"
        usage = {
            "input_tokens": len(seen.body) * share // 2,
            "output_tokens": asked["max_tokens"] * share // 2,
            "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0,
            "inference_geo": region,
        }
        rate = 11 if region == "us" else 10
        self.bills[user] += (usage["input_tokens"] * 3 + usage["output_tokens"] * 15) * rate
        answer = {"type": "message", "model": asked["model"], "stop_reason": "end_turn", "content": []}
        if fate == "whole":
            answer["usage"] = usage
        body = json.dumps(answer).encode()
        if fate == "broken":
            return Reply(pieces=[body[:20]], breaks=True)
        return Reply(pieces=[body], whole=True)


@pytest.mark.parametrize(
    ("trial_cap", "blocks", "together"),
    [(STUDY_CAP // SLOTS, SLOTS, SLOTS), (WANTED, SLOTS // 2, 3)],
    ids=["each-has-its-part", "three-and-a-half-have-all"],
)
def test_sixteen_pods_at_once_spend_no_more_than_the_study_may(
    keyed: Program, corpora: str, provider: Provider, trial_cap: int, blocks: int, together: int
) -> None:
    """What the provider billed is within the cap of each trial and of the study; every trial ends by it, after one refusal."""
    dear = Dear(together)
    study = keyed.folder / "study" / "at-once.toml"
    study.write_text(
        STUDY.format(
            corpora=corpora,
            program=json.dumps(SPENDER),
            model=live(provider),
            slots=SLOTS,
            blocks=blocks,
            trial_cap=trial_cap,
            study_cap=STUDY_CAP,
            output_tokens=OUTPUT_TOKENS,
        ),
        "utf-8",
    )
    behaviour, provider.behaviour = provider.behaviour, dear
    try:
        done = keyed("run", study, "--json")
    finally:
        provider.behaviour = behaviour
    assert done.returncode == 1, done.stderr
    assert dear.all_there.is_set()
    billed = sum(dear.bills.values())
    assert STUDY_CAP * 10 // 2 < billed <= STUDY_CAP * 10
    assert max(dear.bills.values()) <= trial_cap * 10

    found = records(keyed.run)
    assert Counter(record["outcome"] for record in found) == {"cap_exceeded": 2 * blocks}
    charged = 0
    for record in found:
        lines = exchanges(keyed.run, record["trial"])
        assert [line["refused"] for line in lines if line["refused"]] == ["cap_exceeded"]
        assert lines[-1]["refused"] == "cap_exceeded"
        spent = sum(line.get("charged_microusd") or 0 for line in lines)
        assert spent <= trial_cap
        charged += spent
    assert billed <= charged * 10 <= STUDY_CAP * 10

    summary = json.loads(done.stdout)
    assert sum(spend["cost_microusd"] for spend in summary["spend"]) <= charged
    assert sum(spend["charged_microusd"] for spend in summary["spend"]) == charged
    assert sum(spend["attempts"] for spend in summary["spend"]) == 2 * blocks
    census = {(item["outcome"], item["trials"]) for item in summary["census"]["by_arm"]}
    assert census == {("cap_exceeded", blocks)}
    assert {item["kind"]: item["count"] for item in summary["findings"]}["refused_requests"] == 2 * blocks


@pytest.mark.parametrize(
    ("client", "trial_cap", "first_passes"),
    # Room for one request of two clients, and for no second one; for none of the third.
    [("claude-code", 192_500, True), ("messages", 14_500, True), ("codex", 6_000, False)],
)
def test_a_client_that_is_refused_stops(
    keyed: Program, corpora: str, provider: Provider, client: str, trial_cap: int, *, first_passes: bool
) -> None:
    """One refusal a trial and no request behind it; the trial ends by the cap, and the provider saw what passed."""
    caps = f"[caps]\ntrial_microusd = {trial_cap}\noutput_tokens = 2000\nhidden_input_tokens = 0\n"
    path = keyed.folder / "study" / "stops.toml"
    table = CLIENTS[client].replace('"gpt-5"', '"gpt-6-luna"')
    filled = CLIENT_STUDY.format(corpora=f"../{corpora}", client=table, model=live(provider), more=caps, top="")
    path.write_text(filled, "utf-8")
    before = len(provider.requests)
    done = keyed("run", path, "--json")
    assert done.returncode == 1, done.stderr
    passed = [None] if first_passes else []
    for record in records(keyed.run):
        assert record["outcome"] == "cap_exceeded", record["reason"]
        lines = exchanges(keyed.run, record["trial"])
        assert [line["refused"] for line in lines] == [*passed, "cap_exceeded"]
        assert sum(line["charged_microusd"] for line in lines if "charged_microusd" in line) <= trial_cap
    assert len(provider.requests) - before == 2 * len(passed)


def exchanges(run: Path, trial: str) -> list[dict[str, Any]]:
    """The exchanges of a trial's only attempt, as they arrived."""
    lines = (run / "trials" / trial / "attempt-1" / "exchanges.jsonl").read_text("utf-8").splitlines()
    return sorted(map(json.loads, lines), key=lambda line: int(line["seq"]))
