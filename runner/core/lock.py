"""What a run is pinned to, by digest: written before the first trial starts, and named by its summary."""

from __future__ import annotations

from typing import ClassVar, Final, Literal, TypeAlias

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from runner.core.documents import Document, Part
from runner.core.gates import Gate

PROTOCOL_VERSION: Final = "1"
"""Names the way of measuring; it changes when a rule of it does, and other protocols' figures are never put beside."""

USER_IMAGE: Final = "pairbench/user"
"""The repository of images that a study brings along; their tag is the digest of their configuration."""


class ImagePin(Part):
    """An image, by everything that an engine can call it."""

    name: str
    tag: str
    config_digest: str
    manifest_digest: str
    diff_ids: tuple[str, ...]
    drifted: tuple[str, ...]
    """Packages that weren't to be had as locked, as `name locked -> taken`."""
    context_sha256: str = ""
    """Of the tar that an engine's builder made it of; "" for an image that wasn't made so."""

    @property
    def is_users(self) -> bool:
        """Whether the study brought it along: nothing of ours can make it again."""
        return self.tag.startswith(f"{USER_IMAGE}:")


class IndexPin(Part):
    """The ready-made index of a corpus: what it says, and the bytes that trials start from."""

    logical_sha256: str
    """Of the ordered ids, vectors and payloads; the same wherever the same model makes the same vectors."""
    archive_sha256: str
    """Of the archive at hand; another build of the same points has another one."""
    points: int


class CorpusPin(Part):
    """A corpus and its index."""

    corpus_sha256: str
    tree_sha256: str
    passages_sha256: str
    files: int
    passages: int
    index: IndexPin


class QuerySetPin(Part):
    """The query set of one task of a retrieval study."""

    lock_sha256: str
    """Of its `queryset.lock.json`."""
    resolved_sha256: str
    """Of its queries and labels as they are measured with."""
    queries: int
    labels: int


class EnginePin(Part):
    """The engine and the machine below it."""

    name: str
    version: str
    api_version: str
    architecture: str
    kernel: str
    storage_driver: str
    cgroup_version: str
    cpus: int
    memory_bytes: int


class HarnessPin(Part):
    """The code that ran."""

    version: str
    source_sha256: str
    """Over the names and digests of every file of the `runner` package."""
    python: str
    requirements_sha256: str = ""
    """Of what the run keeps of the versions that the code needed; "" where a lock is from before that was pinned."""

    @model_serializer(mode="wrap")
    def _as_it_was(self, handler: SerializerFunctionWrapHandler) -> dict[str, object]:
        """A lock from before requirements were pinned keeps its bytes, and so its digest."""
        written: dict[str, object] = handler(self)
        if not self.requirements_sha256:
            del written["requirements_sha256"]
        return written


How: TypeAlias = Literal["again", "replay", "live"]
"""How a run was made of another one: by its script or program again, from its recording, or by asking its provider."""


class RerunPin(Part):
    """The run that this one is made of: its inputs are those, byte for byte, and nothing was built for it."""

    run: str
    lock_sha256: str
    summary_sha256: str
    how: How


class ArmPin(Part):
    """One arm, as it reaches its trials."""

    name: str
    launch_sha256: str
    """Of the launch that a placeholder task gets, without its tokens."""
    difference: tuple[str, ...]
    """What differs from the control's launch and pod, one line each; empty for the control."""


class Lock(Document):
    """Everything that a run is pinned to."""

    FORMAT: ClassVar[str] = "pairbench/lock"
    LEFT_OUT: ClassVar[frozenset[str]] = frozenset({"rerun_of"})

    run: str
    protocol_version: str
    created_at: str
    evidence: str
    """`fixture` where a policy plays the model, else `measurement`."""
    model_shown: str
    study_sha256: str
    labels_sha256: str
    """"" for a study without labels."""
    plan_sha256: str
    prices_sha256: str
    prompts: dict[str, str]
    """Task -> digest of its prompt."""
    client_version: str
    arms: tuple[ArmPin, ...]
    images: tuple[ImagePin, ...]
    corpora: dict[str, CorpusPin]
    engine: EnginePin
    harness: HarnessPin
    query_sets: dict[str, QuerySetPin] = Field(default_factory=dict)
    """Task -> what it asks; only of a retrieval study."""
    cassette_sha256: str = ""
    """Of what is replayed; "" where nothing is."""
    reconsolidation_sha256: str = ""
    """Of the manifest that pins the cases and their scorer; "" for any other study."""
    gates: tuple[Gate, ...] = ()
    """The study's thresholds, frozen with everything else before the first trial."""
    rerun_of: RerunPin | None = None
    """The run of which this one is a rerun; None for one that a study file made."""
