"""Turns the schema of a payload index into the engine's, and back for `GET /collections/x`."""

from __future__ import annotations

from qdrant_edge import (
    BoolIndexParams,
    DatetimeIndexParams,
    DisabledStemmer,
    FloatIndexParams,
    GeoIndexParams,
    IntegerIndexParams,
    KeywordIndexParams,
    Language,
    PayloadSchemaType,
    SnowballLanguage,
    SnowballParams,
    StopwordsSet,
    TextIndexParams,
    TextScoringParams,
    TokenizerType,
    UuidIndexParams,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeAlias

    from qdrant_edge import PayloadSchemaParams

    from sidecar.reading import Node

    Schema: TypeAlias = "PayloadSchemaType | PayloadSchemaParams"

TYPES = {
    "keyword": PayloadSchemaType.Keyword,
    "integer": PayloadSchemaType.Integer,
    "float": PayloadSchemaType.Float,
    "geo": PayloadSchemaType.Geo,
    "text": PayloadSchemaType.Text,
    "bool": PayloadSchemaType.Bool,
    "datetime": PayloadSchemaType.Datetime,
    "uuid": PayloadSchemaType.Uuid,
}
_TOKENIZERS = {
    "prefix": TokenizerType.Prefix,
    "whitespace": TokenizerType.Whitespace,
    "word": TokenizerType.Word,
    "multilingual": TokenizerType.Multilingual,
    "code": TokenizerType.Code,
}
_CLASSES: dict[str, Callable[..., PayloadSchemaParams]] = {
    "keyword": KeywordIndexParams,
    "integer": IntegerIndexParams,
    "float": FloatIndexParams,
    "geo": GeoIndexParams,
    "text": TextIndexParams,
    "bool": BoolIndexParams,
    "datetime": DatetimeIndexParams,
    "uuid": UuidIndexParams,
}
_COMMON: dict[str, Callable[[Node], Any]] = {
    "on_disk": lambda node: node.flag(),
    "enable_hnsw": lambda node: node.flag(),
    "nested": lambda node: node.text(),
}
_TENANT: dict[str, Callable[[Node], Any]] = {"is_tenant": lambda node: node.flag()}
_PRINCIPAL: dict[str, Callable[[Node], Any]] = {"is_principal": lambda node: node.flag()}


def read_schema(node: Node) -> Schema:
    """Return the engine's schema of a payload index: a type by name, or a type with its options.

    Raises:
        Refused: with 400, for a type or an option that Qdrant doesn't have.
    """
    if node.is_text():
        return node.choice(TYPES)
    kind = node.need("type").text()
    node.need("type").choice(TYPES)
    options = _COMMON | _OPTIONS.get(kind, {})
    node.object("type", "memory", *options)
    parameters = {name: read(part) for name, read in options.items() if (part := node.get(name)) is not None}
    return _CLASSES[kind](**parameters)


def type_name(data_type: PayloadSchemaType) -> str:
    """Return the name that the interface has for a type of index."""
    return next(name for name, member in TYPES.items() if member == data_type)


def _language(node: Node) -> Language:
    return getattr(Language, _member(node, Language))  # type: ignore[no-any-return]


def _member(node: Node, owner: type) -> str:
    name = node.text().capitalize()
    if not name.isalpha() or not hasattr(owner, name):
        raise node.refuse(f"unknown language `{node.text()[:80]}`")
    return name


def _stopwords(node: Node) -> Language | StopwordsSet:
    if node.is_text():
        return _language(node)
    node.object("languages", "custom")
    languages, custom = node.get("languages"), node.get("custom")
    return StopwordsSet(
        None if languages is None else {_language(item) for item in languages.items()},
        None if custom is None else set(custom.texts()),
    )


def _stemmer(node: Node) -> SnowballParams | DisabledStemmer:
    node.object("type", "language")
    if node.need("type").choice({"snowball": True, "none": False}):
        return SnowballParams(getattr(SnowballLanguage, _member(node.need("language"), SnowballLanguage)))
    return DisabledStemmer()


def _scoring(node: Node) -> bool | TextScoringParams:
    if node.is_object():
        node.object("type").need("type").choice({"bm25": True})
        return TextScoringParams()
    return node.flag()


_OPTIONS: dict[str, dict[str, Callable[[Node], Any]]] = {
    "keyword": _TENANT | {"prefix": lambda node: node.flag()},
    "uuid": _TENANT,
    "integer": _PRINCIPAL | {"lookup": lambda node: node.flag(), "range": lambda node: node.flag()},
    "float": _PRINCIPAL,
    "datetime": _PRINCIPAL,
    "text": {
        "tokenizer": lambda node: node.choice(_TOKENIZERS),
        "min_token_len": lambda node: node.integer(),
        "max_token_len": lambda node: node.integer(),
        "lowercase": lambda node: node.flag(),
        "ascii_folding": lambda node: node.flag(),
        "phrase_matching": lambda node: node.flag(),
        "stopwords": _stopwords,
        "stemmer": _stemmer,
        "scoring": _scoring,
    },
}
