"""What each kind of query answers, whichever backend does; expected ids and scores were worked out by hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from qdrant_client import models

if TYPE_CHECKING:
    from qdrant_client import QdrantClient

DOT = models.VectorParams(size=2, distance=models.Distance.DOT)
SPACE = {
    "main": DOT,
    "other": DOT,
    "rows": models.VectorParams(
        size=2,
        distance=models.Distance.DOT,
        multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
    ),
}
SPARSE = {"plain": models.SparseVectorParams(), "words": models.SparseVectorParams(modifier=models.Modifier.IDF)}
MAIN = [[4.0, 0.0], [3.0, 1.0], [2.0, 5.0], [1.0, 7.0], [0.0, 9.0]]
GROUPS = ["a", "a", "b", "b", "c"]

pytestmark = pytest.mark.filterwarnings("ignore:Payload indexes have no effect")


def sparse(**weights: float) -> models.SparseVector:
    """A sparse vector of `_3=1.0` and the like: index to weight."""
    return models.SparseVector(indices=[int(key[1:]) for key in weights], values=list(weights.values()))


@pytest.fixture
def points(client: QdrantClient, name: str) -> str:
    """The name of a collection with the points 0 to 4."""
    client.create_collection(name, vectors_config=SPACE, sparse_vectors_config=SPARSE)
    client.upsert(
        name,
        [
            models.PointStruct(
                id=n,
                vector={
                    "main": vector,
                    "other": vector[::-1],
                    "rows": [vector, [1.0, 1.0]],
                    "plain": sparse(_1=1.0, **{f"_{n + 10}": 2.0}),
                    "words": sparse(_1=1.0, **{f"_{10 + n // 2}": 1.0}),
                },
                payload={"n": n, "group": GROUPS[n], "when": f"2024-01-0{5 - n}T00:00:00Z"},
            )
            for n, vector in enumerate(MAIN)
        ],
    )
    return name


def ranked(client: QdrantClient, name: str, **query: Any) -> list[tuple[Any, float]]:
    """The ids and scores of an answer."""
    return [(point.id, round(point.score, 4)) for point in client.query_points(name, **query).points]


def test_nearest_by_dot_product(client: QdrantClient, points: str) -> None:
    """The largest products come first."""
    assert ranked(client, points, query=[1.0, 0.0], using="main", limit=3) == [(0, 4.0), (1, 3.0), (2, 2.0)]


@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        (models.Distance.COSINE, [(1, 0.96), (2, 0.8), (0, 0.6)]),
        (models.Distance.DOT, [(1, 24.0), (2, 20.0), (0, 15.0)]),
        (models.Distance.EUCLID, [(1, 1.4142), (2, 3.1623), (0, 4.4721)]),
        (models.Distance.MANHATTAN, [(1, 2.0), (2, 4.0), (0, 6.0)]),
    ],
)
def test_each_distance_orders_as_defined(
    client: QdrantClient, name: str, distance: models.Distance, expected: list[tuple[int, float]]
) -> None:
    """Similarities rank from the largest, distances from the smallest."""
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=distance))
    vectors = {0: [5.0, 0.0], 1: [4.0, 3.0], 2: [0.0, 5.0]}
    client.upsert(name, [models.PointStruct(id=n, vector=vector) for n, vector in vectors.items()])
    assert ranked(client, name, query=[3.0, 4.0]) == expected


def test_offset_and_limit_cut_the_ranking(client: QdrantClient, points: str) -> None:
    """An offset leaves out the best, a limit the rest; beyond the end there is nothing."""
    query: dict[str, Any] = {"query": [1.0, 0.0], "using": "main"}
    assert ranked(client, points, **query, offset=1, limit=2) == [(1, 3.0), (2, 2.0)]
    assert ranked(client, points, **query, offset=5) == []


def test_limit_beyond_all_points_gives_all(client: QdrantClient, points: str) -> None:
    """A limit larger than the collection is no error."""
    assert len(ranked(client, points, query=[1.0, 0.0], using="main", limit=100_000)) == 5


def test_score_threshold_cuts_similarities(client: QdrantClient, points: str) -> None:
    """Points below a threshold are left out."""
    assert ranked(client, points, query=[1.0, 0.0], using="main", score_threshold=2.5) == [(0, 4.0), (1, 3.0)]


def test_score_threshold_cuts_distances(client: QdrantClient, name: str) -> None:
    """With a distance, points beyond a threshold are left out."""
    client.create_collection(name, vectors_config=models.VectorParams(size=2, distance=models.Distance.EUCLID))
    client.upsert(name, [models.PointStruct(id=n, vector=[float(n), 0.0]) for n in range(5)])
    assert ranked(client, name, query=[0.0, 0.0], score_threshold=1.5) == [(0, 0.0), (1, 1.0)]


def test_query_shows_payload_and_vectors_as_asked(client: QdrantClient, points: str) -> None:
    """A ranked point has what the request chose."""
    found = client.query_points(
        points, query=[1.0, 0.0], using="main", limit=1, with_payload=["n"], with_vectors=["other"]
    ).points[0]
    assert (found.payload, found.vector) == ({"n": 0}, {"other": [0.0, 4.0]})


def test_query_by_id_leaves_the_point_out(client: QdrantClient, points: str) -> None:
    """A point that is searched by isn't its own neighbour."""
    assert ranked(client, points, query=0, using="main", limit=2) == [(1, 12.0), (2, 8.0)]


def test_query_without_a_query_lists_by_id(client: QdrantClient, points: str) -> None:
    """Without anything to rank by, points come in the order of ids."""
    assert [identifier for identifier, _ in ranked(client, points, limit=3)] == [0, 1, 2]


def test_sparse_query_sums_common_weights(client: QdrantClient, points: str) -> None:
    """A sparse score is the product over the indices that both have."""
    assert ranked(client, points, query=sparse(_1=1.0, _12=3.0), using="plain", limit=1) == [(2, 7.0)]


def test_sparse_query_finds_only_overlaps(client: QdrantClient, points: str) -> None:
    """A point without any common index isn't found."""
    assert ranked(client, points, query=sparse(_13=1.0, _99=5.0), using="plain") == [(3, 2.0)]


def test_sparse_weights_follow_document_frequency(client: QdrantClient, points: str) -> None:
    """With the modifier IDF, what all points have counts little: ln(1 + (N - n + 0.5) / (n + 0.5))."""
    common, rare = math.log(1 + 0.5 / 5.5), math.log(1 + 4.5 / 1.5)
    expected = [(4, round(common + rare, 4))]
    assert ranked(client, points, query=sparse(_1=1.0, _12=1.0), using="words", limit=1) == expected


def test_multivector_query_takes_the_best_row_each(client: QdrantClient, points: str) -> None:
    """Every row of the query counts with its best match among the point's rows."""
    expected = [(4, 10.0), (3, 8.0), (2, 7.0)]
    assert ranked(client, points, query=[[1.0, 0.0], [0.0, 1.0]], using="rows", limit=3) == expected


def test_filter_applies_before_the_limit(client: QdrantClient, points: str) -> None:
    """A filtered search has as many results as the filter allows."""
    only_b = models.Filter(must=[models.FieldCondition(key="group", match=models.MatchValue(value="b"))])
    assert ranked(client, points, query=[1.0, 0.0], using="main", query_filter=only_b) == [(2, 2.0), (3, 1.0)]


def test_batch_of_queries_answers_each(client: QdrantClient, points: str) -> None:
    """Queries in a batch are answered in their order, as they would be alone."""
    answers = client.query_batch_points(
        points,
        requests=[
            models.QueryRequest(query=[1.0, 0.0], using="main", limit=1),
            models.QueryRequest(query=[0.0, 1.0], using="main", limit=2, with_payload=["n"]),
        ],
    )
    assert [[point.id for point in answer.points] for answer in answers] == [[0], [4, 3]]
    assert answers[1].points[0].payload == {"n": 4}


def prefetches(limit: int = 3) -> list[models.Prefetch]:
    return [
        models.Prefetch(query=[1.0, 0.0], using="main", limit=limit),
        models.Prefetch(query=[1.0, 0.1], using="other", limit=limit),
    ]


def test_reciprocal_rank_fusion(client: QdrantClient, points: str) -> None:
    """A point's ranks 0, 1, ... in each list add 1 / (rank + 2)."""
    fused = dict(ranked(client, points, prefetch=prefetches(), query=models.FusionQuery(fusion=models.Fusion.RRF)))
    assert fused == {0: 0.5, 4: 0.5, 1: 0.3333, 3: 0.3333, 2: 0.5}


def test_reciprocal_rank_fusion_with_a_constant(client: QdrantClient, points: str) -> None:
    """A constant changes what a rank is worth: 1 / (rank + k)."""
    query = models.RrfQuery(rrf=models.Rrf(k=10))
    fused = dict(ranked(client, points, prefetch=prefetches(1), query=query))
    assert fused == {0: 0.1, 4: 0.1}


def test_distribution_based_fusion(client: QdrantClient, points: str) -> None:
    """Scores are scaled by their list's mean and three standard deviations, then added; best first."""
    query = models.FusionQuery(fusion=models.Fusion.DBSF)
    fused = ranked(client, points, prefetch=prefetches(), query=query)
    assert {identifier for identifier, _ in fused} == {0, 1, 2, 3, 4}
    scores = [score for _, score in fused]
    assert scores == sorted(scores, reverse=True)
    assert dict(fused)[0] == round((4 - (3 - 3)) / 6, 4)


def test_prefetch_narrows_what_is_ranked(client: QdrantClient, points: str) -> None:
    """Only what a prefetch finds is ranked by the query above it."""
    prefetch = models.Prefetch(query=[1.0, 0.0], using="main", limit=2)
    assert ranked(client, points, prefetch=prefetch, query=[0.0, 1.0], using="main") == [(1, 1.0), (0, 0.0)]


def test_nested_prefetch(client: QdrantClient, points: str) -> None:
    """A prefetch can narrow another."""
    inner = models.Prefetch(query=[1.0, 0.0], using="main", limit=3)
    outer = models.Prefetch(prefetch=[inner], query=[0.0, 1.0], using="main", limit=2)
    assert ranked(client, points, prefetch=[outer], query=[1.0, 1.0], using="main") == [(2, 7.0), (1, 4.0)]


def test_filter_of_a_prefetch(client: QdrantClient, points: str) -> None:
    """A prefetch has a filter of its own."""
    only_c = models.Filter(must=[models.FieldCondition(key="group", match=models.MatchValue(value="c"))])
    prefetch = models.Prefetch(query=[1.0, 0.0], using="main", filter=only_c)
    assert ranked(client, points, prefetch=prefetch, query=[0.0, 1.0], using="main") == [(4, 9.0)]


def test_outer_filter_holds_for_prefetches(client: QdrantClient, points: str) -> None:
    """The filter of the whole query holds within its prefetches too."""
    only_b = models.Filter(must=[models.FieldCondition(key="group", match=models.MatchValue(value="b"))])
    query = models.FusionQuery(fusion=models.Fusion.RRF)
    fused = ranked(client, points, prefetch=prefetches(5), query=query, query_filter=only_b)
    assert {identifier for identifier, _ in fused} == {2, 3}


def test_recommend_by_average(client: QdrantClient, points: str) -> None:
    """The mean of what is wanted, moved away from what isn't, is searched; the examples are left out."""
    query = models.RecommendQuery(recommend=models.RecommendInput(positive=[0, 1], negative=[4]))
    # mean (3.5, 0.5), twice, less (0, 9): (7, -8)
    assert ranked(client, points, query=query, using="main") == [(2, -26.0), (3, -49.0)]


def test_recommend_from_given_vectors(client: QdrantClient, points: str) -> None:
    """Examples may be vectors instead of points."""
    query = models.RecommendQuery(recommend=models.RecommendInput(positive=[[1.0, 0.0], [0.0, 1.0]]))
    assert ranked(client, points, query=query, using="main", limit=2) == [(4, 4.5), (3, 4.0)]


@pytest.mark.parametrize(
    ("strategy", "first"), [(models.RecommendStrategy.BEST_SCORE, 1), (models.RecommendStrategy.SUM_SCORES, 1)]
)
def test_recommend_by_scores(client: QdrantClient, points: str, strategy: models.RecommendStrategy, first: int) -> None:
    """Each example scores each candidate: the nearest to a wanted one, away from the unwanted, is first."""
    recommend = models.RecommendInput(positive=[0], negative=[4], strategy=strategy)
    found = ranked(client, points, query=models.RecommendQuery(recommend=recommend), using="main")
    assert (found[0][0], {identifier for identifier, _ in found}) == (first, {1, 2, 3})


def test_recommend_sparse(client: QdrantClient, points: str) -> None:
    """Examples may be sparse."""
    query = models.RecommendQuery(recommend=models.RecommendInput(positive=[sparse(_12=1.0), sparse(_12=3.0)]))
    assert ranked(client, points, query=query, using="plain") == [(2, 4.0)]


def test_recommend_multivectors(client: QdrantClient, points: str) -> None:
    """The rows of wanted examples are searched together, those of unwanted ones count against."""
    recommend = models.RecommendInput(positive=[[[1.0, 0.0]]], negative=[[[0.0, 1.0]]])
    found = ranked(client, points, query=models.RecommendQuery(recommend=recommend), using="rows", limit=2)
    assert found == [(0, 4.0), (1, 2.0)]


def test_lookup_from_another_vector(client: QdrantClient, points: str) -> None:
    """The vector of a named point may be taken from elsewhere than what is searched."""
    lookup = models.LookupLocation(collection=points, vector="other")
    assert ranked(client, points, query=0, using="main", lookup_from=lookup, limit=1) == [(4, 36.0)]


def test_discovery_prefers_the_right_side(client: QdrantClient, points: str) -> None:
    """Candidates on the positive side of a context rank before those on the other, whatever the target."""
    discover = models.DiscoverInput(
        target=[0.0, 1.0], context=[models.ContextPair(positive=[1.0, 0.0], negative=[0.0, 1.0])]
    )
    found = ranked(client, points, query=models.DiscoverQuery(discover=discover), using="main")
    assert [identifier for identifier, _ in found] == [1, 0, 4, 3, 2]


def test_context_search_has_no_better_than_zero(client: QdrantClient, points: str) -> None:
    """On the right side of all pairs the score is 0, elsewhere negative."""
    context = models.ContextQuery(context=[models.ContextPair(positive=[1.0, 0.0], negative=[0.0, 1.0])])
    found = dict(ranked(client, points, query=context, using="main"))
    assert (found[0], found[1], found[4] < found[2] < 0) == (0.0, 0.0, True)


def test_order_by_a_number(client: QdrantClient, points: str) -> None:
    """Points can be ordered by an indexed number, up or down, from a value on."""
    client.create_payload_index(points, "n", models.PayloadSchemaType.INTEGER)
    query = models.OrderByQuery(order_by=models.OrderBy(key="n", direction=models.Direction.DESC, start_from=3))
    assert [identifier for identifier, _ in ranked(client, points, query=query, limit=2)] == [3, 2]
    assert [record.id for record in client.scroll(points, order_by="n", limit=2)[0]] == [0, 1]


def test_order_by_a_time(client: QdrantClient, points: str) -> None:
    """Points can be ordered by an indexed time."""
    client.create_payload_index(points, "when", models.PayloadSchemaType.DATETIME)
    assert [record.id for record in client.scroll(points, order_by="when", limit=3)[0]] == [4, 3, 2]


def test_ordered_scroll_has_no_next_page(client: QdrantClient, points: str) -> None:
    """An ordered scroll can't be continued by an id, so it offers none."""
    client.create_payload_index(points, "n", models.PayloadSchemaType.INTEGER)
    assert client.scroll(points, order_by=models.OrderBy(key="n"), limit=2)[1] is None


def test_sample_is_of_the_collection(client: QdrantClient, points: str) -> None:
    """A random sample has as many different points as asked for."""
    found = ranked(client, points, query=models.SampleQuery(sample=models.Sample.RANDOM), limit=3)
    identifiers = {identifier for identifier, _ in found}
    assert (len(identifiers), identifiers <= set(range(5))) == (3, True)


def test_diversity_reorders_candidates(client: QdrantClient, points: str) -> None:
    """With maximal marginal relevance the best comes first, the next is unlike it."""
    query = models.NearestQuery(nearest=[1.0, 1.0], mmr=models.Mmr(diversity=1.0, candidates_limit=5))
    found = [identifier for identifier, _ in ranked(client, points, query=query, using="main", limit=2)]
    assert found == [4, 0]


def test_formula_rescores_candidates(client: QdrantClient, points: str) -> None:
    """A formula computes from the score of a prefetch, payload values and conditions."""
    is_b = models.FieldCondition(key="group", match=models.MatchValue(value="b"))
    formula = models.SumExpression(
        sum=["$score", models.MultExpression(mult=[2.0, "n"]), models.MultExpression(mult=[100.0, is_b])]
    )
    found = ranked(
        client,
        points,
        prefetch=models.Prefetch(query=[1.0, 0.0], using="main", limit=3),
        query=models.FormulaQuery(formula=formula),
    )
    assert found == [(2, 106.0), (1, 5.0), (0, 4.0)]


def test_formula_with_functions_and_defaults(client: QdrantClient, points: str) -> None:
    """Functions compose, and what a payload lacks has a default."""
    formula = models.DivExpression(
        div=models.DivParams(
            left=models.PowExpression(pow=models.PowParams(base="absent", exponent=2.0)),
            right=models.AbsExpression(abs=models.NegExpression(neg=4.0)),
        )
    )
    prefetch = models.Prefetch(query=[1.0, 0.0], using="main", limit=1)
    query = models.FormulaQuery(formula=formula, defaults={"absent": 6.0})
    assert ranked(client, points, prefetch=prefetch, query=query) == [(0, 9.0)]


def test_groups_have_their_best_points(client: QdrantClient, points: str) -> None:
    """Groups come in the order of their best point, each with its best points."""
    found = client.query_points_groups(
        points, group_by="group", query=[1.0, 0.0], using="main", limit=2, group_size=1, with_payload=["n"]
    )
    assert [(group.id, [(hit.id, hit.score, hit.payload) for hit in group.hits]) for group in found.groups] == [
        ("a", [(0, 4.0, {"n": 0})]),
        ("b", [(2, 2.0, {"n": 2})]),
    ]


def test_groups_of_a_list_and_of_nothing(client: QdrantClient, name: str) -> None:
    """A point belongs to every value of its list, to none without the key or with a value that names no group."""
    client.create_collection(name, vectors_config=DOT)
    payloads: list[dict[str, Any]] = [{"g": ["x", "y"]}, {"g": 7}, {}, {"g": [True]}, {"g": "y"}]
    client.upsert(
        name, [models.PointStruct(id=n, vector=[9.0 - n, 0.0], payload=payload) for n, payload in enumerate(payloads)]
    )
    found = client.query_points_groups(name, group_by="g", query=[1.0, 0.0])
    assert [(group.id, [hit.id for hit in group.hits]) for group in found.groups] == [
        ("x", [0]),
        ("y", [0, 4]),
        (7, [1]),
    ]


def test_groups_over_a_fusion(client: QdrantClient, points: str) -> None:
    """A fusion can be grouped as well; its prefetches are as wide as the groups need."""
    query = models.FusionQuery(fusion=models.Fusion.RRF)
    found = client.query_points_groups(points, group_by="group", prefetch=prefetches(1), query=query, group_size=5)
    assert {group.id: {hit.id for hit in group.hits} for group in found.groups} == {
        "a": {0, 1},
        "b": {2, 3},
        "c": {4},
    }


def test_facet_counts_values(client: QdrantClient, points: str) -> None:
    """A facet counts the points of each value of an indexed key, most first, within a filter."""
    client.create_payload_index(points, "group", models.PayloadSchemaType.KEYWORD)
    hits = client.facet(points, key="group", exact=True).hits
    assert [(hit.value, hit.count) for hit in hits] == [("a", 2), ("b", 2), ("c", 1)]
    low = models.Filter(must=[models.FieldCondition(key="n", range=models.Range(lt=3))])
    hits = client.facet(points, key="group", facet_filter=low, limit=1, exact=True).hits
    assert [(hit.value, hit.count) for hit in hits] == [("a", 2)]


def test_deleted_points_are_not_found(client: QdrantClient, points: str) -> None:
    """A search doesn't return what was deleted."""
    client.delete(points, points_selector=[0])
    assert ranked(client, points, query=[1.0, 0.0], using="main", limit=1) == [(1, 3.0)]
