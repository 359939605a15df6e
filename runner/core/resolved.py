"""A study with every default written out and every file read in: what later stages read instead of the user's files."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from runner.core.corpus import CorpusFile, CorpusLock
from runner.core.documents import Document, Part
from runner.core.gates import Gate
from runner.core.model_script import ModelScript
from runner.core.reconsolidation.corpus import RecallBudget, Seed, Split
from runner.core.study import (
    Caps,
    Client,
    Label,
    Limits,
    McpServer,
    ModelChoice,
    Schedule,
)
from runner.core.systems import System


class ResolvedQuery(Part):
    """One query of a set, as a trial may know it: without its label, kind and split."""

    id: str
    text: str
    workspace: str
    at_s: int | None


class ResolvedProbe(Part):
    """One question, without the answers that count."""

    id: str
    question: str


class ResolvedCase(Part):
    """One case, as a trial may know it: under an opaque name, without labels and category."""

    case: str
    seeds: tuple[Seed, ...]
    probes: tuple[ResolvedProbe, ...]


class ResolvedCases(Part):
    """What a reconsolidation trial is given."""

    split: Split
    clock: str
    recall_budget: RecallBudget
    cases: tuple[ResolvedCase, ...]


class ResolvedTask(Part):
    """One task with its prompt, its queries or its cases; it holds no label."""

    id: str
    corpus: str
    """"" for a task of cases."""
    prompt: str
    """"" for a task of queries or cases."""
    tags: tuple[str, ...]
    script: ModelScript | None = None
    """What the scripted model plays in this task; None where a policy of the gateway's own plays."""
    queries: tuple[ResolvedQuery, ...] = ()
    """What a retrieval study asks, in this order."""
    cases: ResolvedCases | None = None
    """What a reconsolidation study gives a memory."""


class ResolvedImage(Part):
    """An image of the study's own, by what it is built from."""

    dockerfile: str
    """Its path in the context."""
    context_sha256: str
    """Of the context as a tar, the Dockerfile in it."""
    files: int
    bases: tuple[str, ...]
    """The images of ours that its Dockerfile names by `ARG PAIRBENCH_<NAME>`."""


class ResolvedArm(Part):
    """One arm with the texts of its files."""

    name: str
    description: str
    image: str
    """Name of an image of ours or of the study's own, or a reference by digest."""
    instructions: str
    """Text appended to the system prompt; "" for none."""
    env: dict[str, str]
    sidecar: bool
    mcp_servers: tuple[McpServer, ...]
    system: System | None = None
    """What is asked in a retrieval study, or reconsolidates in a study of that."""
    script: ModelScript | None = None
    """What the scripted model plays in this arm; None where it plays what the task says."""

    @property
    def memory_tools(self) -> tuple[str, ...]:
        """The tools of the arm's servers, as the model sees their names."""
        return tuple(f"mcp__{server.name}__{tool}" for server in self.mcp_servers for tool in server.tools)


class ResolvedStudy(Document):
    """Everything that a study declares, but its labels."""

    FORMAT: ClassVar[str] = "pairbench/resolved-study"

    name: str
    description: str
    seed: str
    repetitions: int
    control: str
    client: Client
    client_instructions: str
    """Text appended to the system prompt in every arm; "" for none."""
    model: ModelChoice
    limits: Limits
    schedule: Schedule
    arms: tuple[ResolvedArm, ...]
    tasks: tuple[ResolvedTask, ...]
    corpora: dict[str, CorpusLock]
    gates: tuple[Gate, ...] = ()
    caps: Caps = Caps()
    model_ca: str = ""
    """Certificates of the authorities that the provider's own must come from, as PEM; "" for the usual ones."""
    images: dict[str, ResolvedImage] = Field(default_factory=dict)
    """Images of the study's own, by the name that arms call them."""

    @property
    def output_tokens(self) -> int | None:
        """What one request may write at most: the client's own limit, or the lower one that the caps count on."""
        limits = (self.client.max_output_tokens, self.caps.output_tokens)
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def told_output_tokens(self) -> int | None:
        """What of it the client is told; None where it can't be told, or nothing is to be said."""
        return self.output_tokens if self.client.output_limit else None

    def arm(self, name: str) -> ResolvedArm:
        """The arm called `name`, which must be one of the study's."""
        return next(arm for arm in self.arms if arm.name == name)

    def task(self, identity: str) -> ResolvedTask:
        """The task with this id, which must be one of the study's."""
        return next(task for task in self.tasks if task.id == identity)


class ResolvedLabels(Document):
    """The labels of a study; they are kept apart from everything that enters a trial."""

    FORMAT: ClassVar[str] = "pairbench/resolved-labels"

    labels: tuple[Label, ...]


class CorpusSource(Part):
    """A corpus file and where it was read."""

    file: CorpusFile
    lock: CorpusLock
    document: str
    """Path of `corpus.toml`."""
