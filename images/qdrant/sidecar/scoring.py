"""Turns what a query ranks by into the engine's terms: vectors, examples, fusions, payload values, formulas."""

from __future__ import annotations

from qdrant_edge import (
    Bm25Params,
    ContextPair,
    ContextQuery,
    Direction,
    DiscoverQuery,
    FeedbackItem,
    FeedbackNaiveQuery,
    Fusion,
    Mmr,
    NaiveFeedbackStrategy,
    OrderBy,
    Query,
    RecommendQuery,
    Sample,
    SparseVector,
    TextQuery,
)

from sidecar.formulas import formula
from sidecar.refusal import wrong_input
from sidecar.vectors import named_vector, point_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from qdrant_edge import ScoringQueryType

    from sidecar.collection import Collection
    from sidecar.reading import Node
    from sidecar.vectors import AnyVector, PointId

RRF_K = 2  # Qdrant's default
DEFAULT_DIVERSITY = 0.5
_DIRECTIONS = {"asc": Direction.Asc, "desc": Direction.Desc}


class Sources:
    """Where the vectors of one query come from: the request itself, or points that it names."""

    def __init__(self, searched: Collection, using: str | None, lookup: tuple[Collection, str | None] | None) -> None:
        """Hold the collection and vector that are searched, and those that ids are looked up in."""
        self.searched = searched
        self.using = using
        self.name = using or ""
        self._lookup, lookup_name = lookup or (searched, None)
        self._lookup_name = self.name if lookup_name is None else lookup_name
        self.mentioned: list[PointId] = []

    def vector(self, node: Node) -> AnyVector:
        """Return a vector that is given, or that of a point that is named; such a point is left out of the results."""
        if type(node.value) is int or node.is_text():
            identifier = point_id(node)
            vector = self._lookup.vector_of(identifier, self._lookup_name)
            if self._lookup is self.searched:
                self.mentioned.append(identifier)
            return vector
        return named_vector(node, self.name, self.searched.schema)

    def vectors(self, node: Node | None) -> list[AnyVector]:
        """Return the vectors of a list of examples."""
        return [] if node is None else [self.vector(item) for item in node.items()]


def read_query(node: Node, sources: Sources, limit: int) -> ScoringQueryType:
    """Return what the engine ranks by; `limit` is the number of results asked for.

    Raises:
        Refused: 400 or 422 for what Qdrant doesn't know, 404 for points that don't exist, 501 for what isn't served.
    """
    if node.is_object() and not node.has("indices") and not node.has("model"):
        for kind, read in _KINDS.items():
            if node.has(kind):
                return read(node, sources, limit)
        if not node.has("object") and not node.has("image"):
            raise node.refuse(f"a query needs one of: {', '.join(_KINDS)}")
    return _nearest(sources.vector(node), sources)


def _nearest(vector: AnyVector, sources: Sources) -> ScoringQueryType:
    sources.searched.schema.check_name(sources.name)
    return Query.Nearest(vector, using=sources.name)


def _nearest_or_mmr(node: Node, sources: Sources, limit: int) -> ScoringQueryType:
    vector = sources.vector(node.object("nearest", "mmr").need("nearest"))
    mmr = node.get("mmr")
    if mmr is None:
        return _nearest(vector, sources)
    mmr.object("diversity", "candidates_limit")
    diversity, candidates = mmr.get("diversity"), mmr.get("candidates_limit")
    share = DEFAULT_DIVERSITY if diversity is None else diversity.number()
    if not 0.0 <= share <= 1.0:
        raise mmr.refuse("diversity must be from 0.0 to 1.0")
    most = limit if candidates is None else candidates.integer(0, 16384)
    return Mmr(vector, 1.0 - share, sources.searched.at_most_all(most), using=sources.name)


def _recommend(node: Node, sources: Sources, _limit: int) -> ScoringQueryType:
    body = node.object("recommend").need("recommend").object("positive", "negative", "strategy")
    positive, negative = sources.vectors(body.get("positive")), sources.vectors(body.get("negative"))
    strategy = body.get("strategy")
    sources.searched.schema.check_name(sources.name)
    read = _average if strategy is None else strategy.choice(_STRATEGIES)
    return read(positive, negative, sources)


def _average(positive: list[AnyVector], negative: list[AnyVector], sources: Sources) -> ScoringQueryType:
    """Return the search from the mean of what is wanted, moved away from the mean of what isn't."""
    if not positive:
        raise wrong_input("Positive list is empty: the strategy average_vector needs at least one positive example")
    if sources.name in sources.searched.schema.sparse:
        return _nearest(_sparse_average(positive, negative), sources)
    if sources.searched.schema.dense[sources.name].is_multi:
        rows = [row for vector in positive for row in vector]  # type: ignore[union-attr]
        rows += [[-value for value in row] for vector in negative for row in vector]  # type: ignore[union-attr]
        return _nearest(rows, sources)  # type: ignore[arg-type]
    wanted = _mean(positive)
    if negative:
        wanted = [2 * plus - minus for plus, minus in zip(wanted, _mean(negative), strict=True)]
    return _nearest(wanted, sources)


def _mean(examples: list[AnyVector]) -> list[float]:
    columns = zip(*examples, strict=True)
    return [sum(column) / len(examples) for column in columns]


def _sparse_average(positive: list[AnyVector], negative: list[AnyVector]) -> SparseVector:
    totals: dict[int, float] = {}
    for examples, weight in ((positive, 2.0 if negative else 1.0), (negative, -1.0)):
        for vector in examples:
            if isinstance(vector, SparseVector):
                for index, value in zip(vector.indices, vector.values, strict=True):
                    totals[index] = totals.get(index, 0.0) + weight * value / len(examples)
    indices = sorted(totals)
    return SparseVector(indices, [totals[index] for index in indices])


def _examples(positive: list[AnyVector], negative: list[AnyVector]) -> RecommendQuery:
    if not positive and not negative:
        raise wrong_input("No positive or negative examples given")
    return RecommendQuery(positive, negative)


_STRATEGIES: dict[str, Callable[[list[AnyVector], list[AnyVector], Sources], ScoringQueryType]] = {
    "average_vector": _average,
    "best_score": lambda plus, minus, at: Query.RecommendBestScore(_examples(plus, minus), using=at.name),
    "sum_scores": lambda plus, minus, at: Query.RecommendSumScores(_examples(plus, minus), using=at.name),
}


def _pairs(node: Node, sources: Sources) -> list[ContextPair]:
    pairs = []
    for item in node.one_or_many():
        item.object("positive", "negative")
        pairs.append(ContextPair(sources.vector(item.need("positive")), sources.vector(item.need("negative"))))
    return pairs


def _discover(node: Node, sources: Sources, _limit: int) -> ScoringQueryType:
    body = node.object("discover").need("discover").object("target", "context")
    context = body.get("context")
    target = sources.vector(body.need("target"))
    pairs = [] if context is None else _pairs(context, sources)
    return Query.Discover(DiscoverQuery(target, pairs), using=sources.name)


def _context(node: Node, sources: Sources, _limit: int) -> ScoringQueryType:
    pairs = _pairs(node.object("context").need("context"), sources)
    return Query.Context(ContextQuery(pairs), using=sources.name)


def _feedback(node: Node, sources: Sources, _limit: int) -> ScoringQueryType:
    body = node.object("relevance_feedback").need("relevance_feedback").object("target", "feedback", "strategy")
    naive = body.need("strategy").object("naive").need("naive").object("a", "b", "c")
    strategy = NaiveFeedbackStrategy(*(naive.need(name).number() for name in ("a", "b", "c")))
    target = sources.vector(body.need("target"))
    items = [
        FeedbackItem(sources.vector(item.object("example", "score").need("example")), item.need("score").number())
        for item in body.need("feedback").items()
    ]
    return Query.FeedbackNaive(FeedbackNaiveQuery(target, items, strategy), using=sources.name)


def order_by(node: Node) -> OrderBy:
    """Return an order by the values of a payload key."""
    if node.is_text():
        return OrderBy(node.text())
    node.object("key", "direction", "start_from")
    direction, start = node.get("direction"), node.get("start_from")
    start_from: int | float | str | None = None
    if start is not None:
        is_whole = type(start.value) is int
        start_from = (
            start.text() if start.is_text() else start.integer(-(2**63), 2**63 - 1) if is_whole else start.number()
        )
    return OrderBy(node.need("key").text(), None if direction is None else direction.choice(_DIRECTIONS), start_from)


def _order_by(node: Node, _sources: Sources, _limit: int) -> ScoringQueryType:
    return order_by(node.object("order_by").need("order_by"))


def _fusion(node: Node, _sources: Sources, _limit: int) -> ScoringQueryType:
    if node.object("fusion").need("fusion").choice({"rrf": True, "dbsf": False}):
        return Fusion.Rrf(k=RRF_K)  # type: ignore[return-value]
    return Fusion.Dbsf()  # type: ignore[return-value]


def _rrf(node: Node, _sources: Sources, _limit: int) -> ScoringQueryType:
    body = node.object("rrf").need("rrf").object("k", "weights")
    k, weights = body.get("k"), body.get("weights")
    return Fusion.Rrf(  # type: ignore[return-value]
        k=RRF_K if k is None else k.integer(1, 2**32 - 1),
        weights=None if weights is None else [weight.number() for weight in weights.items()],
    )


def _sample(node: Node, _sources: Sources, _limit: int) -> ScoringQueryType:
    return node.object("sample").need("sample").choice({"random": Sample.Random})


def _formula(node: Node, _sources: Sources, _limit: int) -> ScoringQueryType:
    return formula(node)


def _text(node: Node, sources: Sources, _limit: int) -> ScoringQueryType:
    if sources.using is None:
        raise wrong_input("a text query needs `using` to name the payload field to search")
    body = node.object("text").need("text")
    if body.is_text():
        return TextQuery(sources.using, body.text())
    body.object("query", "scoring")
    scoring = body.get("scoring")
    params = None
    if scoring is not None:
        bm25 = scoring.object("bm25").need("bm25").object("k", "b")
        k, b = bm25.get("k"), bm25.get("b")
        params = Bm25Params(None if k is None else k.number(), None if b is None else b.number())
    return TextQuery(sources.using, body.need("query").text(), params)


_KINDS: dict[str, Callable[[Node, Sources, int], ScoringQueryType]] = {
    "nearest": _nearest_or_mmr,
    "recommend": _recommend,
    "discover": _discover,
    "context": _context,
    "relevance_feedback": _feedback,
    "order_by": _order_by,
    "fusion": _fusion,
    "rrf": _rrf,
    "sample": _sample,
    "formula": _formula,
    "text": _text,
}
