"""What a service says before it ends without having been ready becomes the reason of its attempt."""

from __future__ import annotations

import pytest

from runner.core.evidence import OutcomeHint
from runner.execute.last_words import why_not_ready
from runner.execute.pod import Pod
from tests.fakes.engine import Box, Fault
from tests.fakes.orders import order, planned, pod_engine
from tests.fakes.pods import Pods

REFUSED = b'{"event":"refused","document":"/in/gateway.json","problems":["upstream.base_url Port out of range 0-65535"'


@pytest.mark.parametrize(
    ("printed", "said"),
    [
        (REFUSED + b"]}\n", "upstream.base_url Port out of range 0-65535"),
        (
            REFUSED + b',"missing key seed","unknown key x"]}\n',
            "upstream.base_url Port out of range 0-65535 (and 2 more)",
        ),
        (
            b'a warning\n{"event":"failed","reason":"the evidence directory holds evidence"}\n',
            "the evidence directory holds evidence",
        ),
        (b'{"event":"refused","problems":["' + b"x" * 1000 + b'"]}\n', "x" * 500),
        (b'{"event":"refused","problems":["\\ud800"]}\n', "???"),
        (b'{"event":"refused","problems":[]}\n', ""),
        (b'{"event":"refused"}\n["refused"]\n\xff\n' + b"[" * 100_000, ""),
        (b"", ""),
    ],
)
def test_the_first_problem_is_told_and_how_many_more(printed: bytes, said: str) -> None:
    """Bounded, and nothing where nothing was said."""
    assert why_not_ready(printed) == said.replace("???", "\ufffd\ufffd\ufffd")


def refuses(box: Box) -> int:
    box.say(REFUSED + b',"missing key seed"]}\n')
    return 2


def test_a_gateway_that_refuses_its_configuration_is_quoted() -> None:
    """It isn't only said that it wasn't ready: whoever reads the run's record learns why."""
    pods = Pods()
    pods.roles["gateway"] = refuses
    engine = pod_engine(pods)
    pod = Pod(engine, engine.clock, order(planned()))
    pod.prepare()
    assert pod.hint is OutcomeHint.GATEWAY_NOT_READY
    assert pod.detail == (
        "the gateway did not say that it is ready: upstream.base_url Port out of range 0-65535 (and 1 more)"
    )
    pod.dispose()
    assert engine.owned() == ()


def test_an_engine_that_keeps_the_words_to_itself_changes_nothing_else() -> None:
    """The gateway wasn't ready, and the engine failed as well: the attempt may be repeated."""
    pods = Pods()
    pods.roles["gateway"] = refuses
    engine = pod_engine(pods)
    engine.faults.append(Fault("output", "-gateway"))
    pod = Pod(engine, engine.clock, order(planned()))
    pod.prepare()
    assert pod.hint is OutcomeHint.ENGINE_ERROR
    assert "the engine refused" in pod.detail
