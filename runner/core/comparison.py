"""Two runs held against each other: field by field where they must be equal, else estimate beside estimate."""

from __future__ import annotations

from typing import ClassVar, Literal

from runner.core.documents import Document, Part, QuantityField

Kind = Literal["equality", "estimates", "uncontrolled"]
"""`equality`: the one repeats the other, and everything but declared fields must be equal. `estimates`: two
measurements under equal conditions. `uncontrolled`: conditions differ, so no difference of figures has one cause."""
Lies = Literal["yes", "no", "unknown"]


class ComparedRun(Part):
    """One of the two runs."""

    given: str
    """What it was asked for by."""
    run: str
    study: str
    lock_sha256: str
    summary_sha256: str
    evidence: str
    model_shown: str
    mode: str
    rerun_of: str
    """The run that it is a rerun of; "" for none."""


class FieldDifference(Part):
    """One field that isn't the same on both sides, and may not differ."""

    document: str
    trial: str
    """Of a document with a line for each trial, query or case: which line; "" for any other."""
    field: str
    """"" for the document, or the line, as a whole."""
    a: str
    """As JSON, and of a long value the part where both differ; "" where A hasn't got it."""
    b: str
    only_in: Literal["", "A", "B"]


class DocumentFields(Part):
    """What became of the fields of one document, or of a group of files."""

    document: str
    same: int
    volatile: int
    """That differ, and may."""
    different: int


class VolatileFields(Part):
    """Fields that differ, and may, by what declares it."""

    document: str
    field: str
    reason: str
    why: str
    fields: int


class EstimatePair(Part):
    """One figure of both summaries, with its interval."""

    part: str
    """Where it stands: a treatment of failures, or a scope of rankings."""
    measure: str
    label: str
    unit: str
    kind: Literal["amount", "share"]
    scale: int
    """The figure is in units of 1/scale."""
    headline: bool
    """A reader of both summaries sees the measure first."""
    figure: str
    arm: str
    control: str
    """What it is compared with; "" for an arm's own figure."""
    a: QuantityField
    a_low: QuantityField
    a_high: QuantityField
    b: QuantityField
    b_low: QuantityField
    b_high: QuantityField
    difference: QuantityField
    """B less A, of the two points."""
    a_within_b: Lies
    """Whether the point of A lies in the interval of B."""
    b_within_a: Lies


class LeftOut(Part):
    """Something that wasn't compared, and why."""

    what: str
    reason: str


class Comparison(Document):
    """Two runs, and what a comparison of them may say."""

    FORMAT: ClassVar[str] = "pairbench/comparison"

    kind: Kind
    relation: str
    """What the two have to do with each other, in words."""
    equal: bool
    """Nothing differs but what may: only ever true where equality is what was asked."""
    a: ComparedRun
    b: ComparedRun
    warnings: tuple[str, ...]
    """What nobody may overlook: that a fixture stands beside a measurement."""
    differences: tuple[FieldDifference, ...]
    """The first of them; of two runs that aren't held to be equal, those of their conditions."""
    differences_left_out: int
    documents: tuple[DocumentFields, ...]
    volatile: tuple[VolatileFields, ...]
    estimates: tuple[EstimatePair, ...]
    not_compared: tuple[LeftOut, ...]
