"""Two runs are held against each other: what they have to do with one another decides what may be said of them."""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from runner.core import layout
from runner.core.canonical import parse_json
from runner.core.comparison import Comparison, DocumentFields, FieldDifference, LeftOut, VolatileFields
from runner.core.field_comparison import MISSING, FieldComparison, Found, Rules, difference, has_shape
from runner.core.relation import kind_of, relation_of
from runner.core.side_by_side import left_out, pairs_of
from runner.core.volatile import Reason
from runner.pipeline.folder import required
from runner.pipeline.pairing import Pairs
from runner.pipeline.sides import code_fault, digest_of_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runner.core.comparison import Kind
    from runner.core.field_comparison import Difference
    from runner.core.relation import Relation
    from runner.pipeline.sides import Side

SHOWN: Final = 100
"""Differences that a comparison tells one by one."""
_LINES: Final = {
    layout.RECORDS: ("trial",),
    layout.SCORES: ("trial",),
    layout.RANKINGS: ("trial", "task", "query"),
    layout.LATENCIES: ("trial", "task", "query"),
    layout.RETRIEVAL: ("trial", "task", "query"),
    layout.OBSERVATIONS: ("trial", "case"),
    layout.CASSETTE: ("task", "repetition", "arm", "seq"),
}
"""Documents with a line for each thing, and the keys that say which."""
_FROZEN: Final = {
    "study_sha256": layout.STUDY,
    "plan_sha256": layout.PLAN,
    "prices_sha256": layout.PRICES,
    "labels_sha256": layout.LABELS,
}
"""What a lock says of documents that are compared themselves."""
_OF_EQUALITY: Final = (
    LeftOut(
        what=f"{layout.LEDGER}, {layout.TRIALS}/",
        reason="journal and raw evidence hold moments and identifiers throughout; what is computed from them is "
        "compared, and `pairbench verify` holds it against them",
    ),
    LeftOut(
        what=f"{layout.REPORT}, {layout.FIELD_FILES}/",
        reason=f"made of documents that are compared: {layout.SUMMARY}, {layout.RANKINGS}, inputs",
    ),
)


_OF_ESTIMATES: Final = (
    LeftOut(
        what="records, scores and what else came of the runs",
        reason="figures of the summaries stand side by side: two measurements needn't agree trial by trial",
    ),
)
_FILES: Final = f"{layout.INPUTS}/files/"
_SOURCES: Final = LeftOut(
    what=_FILES, reason=f"what was read from these files is compared: {layout.STUDY} and what stands beside it"
)


@dataclass
class Account:
    """What became of the fields so far, document by document."""

    excused: frozenset[Reason]
    documents: dict[str, Found] = field(default_factory=dict)
    first: list[tuple[tuple[int, int, int], FieldDifference]] = field(default_factory=list)
    """By document, line and field."""
    different: int = 0

    def say(self, document: str, trial: str, place: int, found: Difference) -> None:
        """One more difference; the first ones are kept, in the order of documents, lines and fields."""
        self.different += 1
        told = FieldDifference(
            document=document, trial=trial, field=found.field, a=found.a, b=found.b, only_in=found.only_in
        )
        insort(self.first, ((len(self.documents), place, self.different), told), key=lambda item: item[0])
        del self.first[SHOWN:]

    def drop(self, told: FieldDifference) -> None:
        """Another difference says the same, and more."""
        self.first = [item for item in self.first if item[1] != told]
        self.documents[told.document].different -= 1
        self.different -= 1

    def counts(self) -> Iterator[DocumentFields]:
        """What became of the fields of each document."""
        for name, found in self.documents.items():
            yield DocumentFields(
                document=name, same=found.same, volatile=sum(found.volatile.values()), different=found.different
            )

    def volatile(self) -> Iterator[VolatileFields]:
        """What differs and may, by what declares it."""
        for name, found in self.documents.items():
            for (pattern, reason), fields in found.volatile.items():
                yield VolatileFields(document=name, field=pattern, reason=reason.value, why=reason.words, fields=fields)


def compare(a: Side, b: Side) -> Comparison:
    """What the two have to do with each other, and what follows: equality, estimates, or a list of what differs.

    Raises:
        EvidenceError: a document isn't JSON, or ends in the middle of a line.
    """
    relation = relation_of(a.locked, b.locked)
    conditions = _conditions_account(a, b, relation)
    kind = kind_of(relation, a.locked, b.locked, conditions_differ=bool(conditions.different))
    if kind != "equality":
        return _told(a, b, relation, kind, conditions)
    account = Account(relation.excused - ({Reason.INSTALLED} if any(map(code_fault, (a, b))) else set()))
    _compare_conditions(account, a, b, relation)
    for name in _results(a, b):
        _compare_document(account, a, b, name)
    return _told(a, b, relation, kind, account)


def _conditions_account(a: Side, b: Side, relation: Relation) -> Account:
    """In what the conditions of the two differ; nothing is looked at where the one repeats the other anyway."""
    # What answers a policy or a cassette gives doesn't depend on the machine; how a provider fares may.
    answered = a.locked.asks_provider or b.locked.asks_provider
    account = Account(frozenset({Reason.OCCASION} if answered else {Reason.OCCASION, Reason.PLACE}))
    if relation.repeats:
        return account
    _compare_conditions(account, a, b, relation)
    for _, told in tuple(account.first):
        frozen = _FROZEN.get(told.field) if told.document == layout.LOCK else None
        if frozen is not None and frozen in account.documents and account.documents[frozen].different:
            account.drop(told)
    return account


def _told(a: Side, b: Side, relation: Relation, kind: Kind, account: Account) -> Comparison:
    equality = kind == "equality"
    skipped = () if relation.sources else (_SOURCES,)
    return Comparison(
        kind=kind,
        relation=relation.words,
        equal=equality and not account.different,
        a=a.described,
        b=b.described,
        warnings=tuple(_warnings(a, b, equality=equality)),
        differences=tuple(told for _, told in account.first),
        differences_left_out=account.different - len(account.first),
        documents=tuple(account.counts()),
        volatile=tuple(account.volatile()),
        estimates=() if equality else pairs_of(a.summary, b.summary),
        not_compared=(*(_OF_EQUALITY if equality else (*_OF_ESTIMATES, *left_out(a.summary, b.summary))), *skipped),
    )


def _warnings(a: Side, b: Side, *, equality: bool) -> Iterator[str]:
    if a.lock.evidence != b.lock.evidence:
        told = " and ".join(f"{name} is a {side.lock.evidence}" for name, side in (("A", a), ("B", b)))
        yield f"{told}: a policy plays the model in the one, and no figure of it can stand beside the other's"
    elif not equality and a.lock.evidence == "fixture":
        yield "both are fixtures: a policy plays the model, and no figure says anything of a real one"


def _compare_conditions(account: Account, a: Side, b: Side, relation: Relation) -> None:
    for name in _conditions(a, b, sources=relation.sources):
        _compare_document(account, a, b, name)
        if name == layout.LOCK:
            for broken in relation.broken:
                _differs(account, name, broken)
    faults = [code_fault(side) for side in (a, b)]
    if any(faults):
        account.documents.setdefault(layout.HARNESS, Found())
        _differs(account, layout.HARNESS, difference("(the lock's code)", *(fault or MISSING for fault in faults)))


def _conditions(a: Side, b: Side, *, sources: bool) -> Iterator[str]:
    """What the two were made with; the files that their studies were read from only where `sources`."""
    yield layout.LOCK
    yield layout.STUDY
    names = {name for side in (a, b) for name in side.files.walk(side.folder / layout.INPUTS)}
    for name in sorted(f"{layout.INPUTS}/{name}" for name in names):
        if name != layout.STUDY and (sources or not name.startswith(_FILES)):
            yield name
    yield layout.PLAN


def _results(a: Side, b: Side) -> Iterator[str]:
    """What came of them."""
    for name in (*_LINES, layout.BASELINE, layout.SUMMARY):
        if any(side.files.is_regular(side.folder / name) for side in (a, b)):
            yield name


def _compare_document(account: Account, a: Side, b: Side, name: str) -> None:
    rules = Rules.of(name, account.excused)
    found = account.documents.setdefault(name, Found())
    digests = [digest_of_file(side.files, side.folder / name) for side in (a, b)]
    whole = rules.whole()
    values = [MISSING if digest is None else digest for digest in digests]
    if whole is not None and digests[0] != digests[1] and has_shape(whole.shape, *values):
        found.volatile[whole.field, whole.reason] += 1
    elif None in digests:
        _whole(account, name, *values)
    elif name in _LINES:
        _compare_lines(account, rules, (a, b), name)
    elif name.endswith(".json"):
        parsed = [parse_json(required(side.files, side.folder, name), f"{side.given}: {name}") for side in (a, b)]
        FieldComparison(rules, found, lambda told: account.say(name, "", 0, told)).compare(*parsed)
    elif digests[0] == digests[1]:
        found.same += 1
    else:
        _whole(account, name, *digests)


def _whole(account: Account, name: str, a: object, b: object) -> None:
    _differs(account, name, difference("", a, b))


def _differs(account: Account, name: str, told: Difference) -> None:
    account.documents[name].different += 1
    account.say(name, "", 0, told)


def _compare_lines(account: Account, rules: Rules, sides: tuple[Side, Side], name: str) -> None:
    found = account.documents[name]
    pairs = Pairs(_LINES[name], name)
    place, trial = 0, ""
    fields = FieldComparison(rules, found, lambda told: account.say(name, trial, place, told))
    lines = (side.files.pieces(side.folder / name) or iter(()) for side in sides)
    for pair in pairs.of(*lines):
        place, trial = pair.place, pair.name
        fields.compare(pair.a, pair.b)
    # Which trial ends first, of several at once, is chance, and a recording is in that order.
    if pairs.misplaced is not None and name != layout.CASSETTE:
        found.different += 1
        account.say(name, "", pairs.misplaced[0], difference("(order of lines)", *pairs.misplaced))
