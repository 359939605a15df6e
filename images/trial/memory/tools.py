"""What can a model ask of the memory, and what does it hear? `memory_search` and `memory_get`, without any protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memory import passages, store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

DEFAULT_COUNT = 5
MOST = 20
_QUERY_LIMIT_CHARACTERS = 20_000
_ID_LIMIT = 2**64 - 1


class Embedder(Protocol):
    """Whatever turns a text into the vector to search with."""

    def embed(self, text: str) -> Sequence[float]:
        """The vector of `text`."""
        ...


class Tool(NamedTuple):
    """A tool as it is listed: JSON Schema included."""

    name: str
    description: str
    input_schema: dict[str, Any]


class Answer(NamedTuple):
    """What the model hears; `failed` marks an error."""

    text: str
    failed: bool = False


class ArgumentError(ValueError):
    """The model called a tool with arguments that it can't be called with; the text says how to do better."""


TOOLS = (
    Tool(
        "memory_search",
        "Search the memory of this workspace for passages that answer a question."
        " Returns the best passages, each with its id, source file and byte range.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for, in plain words."},
                "k": {
                    "type": "integer",
                    "description": f"How many passages, 1 to {MOST}.",
                    "default": DEFAULT_COUNT,
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        },
    ),
    Tool(
        "memory_get",
        "Return one passage of the memory in full, by the id that memory_search gave.",
        {
            "type": "object",
            "properties": {"id": {"type": "integer", "description": "The id of the passage."}},
            "required": ["id"],
            "additionalProperties": False,
        },
    ),
)


class Memory:
    """The two tools over one collection; `embedder` is called when, and only when, a search needs it."""

    def __init__(self, embedder: Callable[[], Embedder], collection: store.Store) -> None:
        """Nothing is loaded or asked yet."""
        self._embedder = embedder
        self._collection = collection

    def call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        """The answer of the tool `name`. Whatever goes wrong is an answer too: a model can go on without the memory."""
        try:
            if name == "memory_search":
                return self._search(arguments)
            if name == "memory_get":
                return self._get(arguments)
        except (ArgumentError, store.StoreError, passages.PassageError) as error:
            return Answer(f"{name}: {error}", failed=True)
        except Exception as error:
            return Answer(f"{name}: unexpected {type(error).__name__}: {error}", failed=True)
        return Answer(f"There is no tool {name!r}; there are memory_search and memory_get.", failed=True)

    def _search(self, arguments: Mapping[str, Any]) -> Answer:
        _only(arguments, {"query", "k"})
        query = arguments.get("query")
        if not isinstance(query, str) or not query.strip():
            raise ArgumentError("query: expected some words to look for")
        if len(query) > _QUERY_LIMIT_CHARACTERS:
            raise ArgumentError(f"query: expected at most {_QUERY_LIMIT_CHARACTERS} characters, found {len(query)}")
        asked = arguments.get("k")
        count = DEFAULT_COUNT if asked is None else _whole(asked, "k")
        vector = self._embedder().embed(query.encode("utf-8", "replace").decode("utf-8"))
        found = self._collection.search([float(component) for component in vector], min(max(count, 1), MOST))
        return Answer(passages.many(found))

    def _get(self, arguments: Mapping[str, Any]) -> Answer:
        _only(arguments, {"id"})
        number = _whole(arguments.get("id"), "id")
        found = self._collection.get(number) if 0 <= number <= _ID_LIMIT else None
        if found is None:
            raise ArgumentError(f"id: there is no passage {number}; use an id that memory_search returned")
        return Answer(passages.one(found))


def _only(arguments: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(set(arguments) - known)
    if unknown:
        raise ArgumentError(f"unknown arguments {unknown}; known are {sorted(known)}")


def _whole(value: Any, name: str) -> int:
    if isinstance(value, float) and value.is_integer():
        # JSON has one kind of number: 5.0 is what some clients write for 5.
        return int(value)
    if type(value) is not int:
        raise ArgumentError(f"{name}: expected a whole number, found {value!r:.80}")
    return value
