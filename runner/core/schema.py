"""What a document looks like, as JSON Schema (draft 2020-12), from the models that write and read it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runner.core.documents import Document


def schema_of(document: type[Document]) -> dict[str, Any]:
    """The schema of `document`, with its format and version as the only ones that there are."""
    schema = document.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = f"{document.FORMAT} {document.VERSION}"
    schema["properties"]["format"] = {"const": document.FORMAT}
    schema["properties"]["version"] = {"const": document.VERSION}
    # Every key is always written, also one that a reader of older documents would fill in.
    for part in (schema, *schema["$defs"].values()):
        if part.get("type") == "object":
            part["required"] = sorted(part["properties"])
    schema["required"] = sorted(set(schema["properties"]) - document.LEFT_OUT)
    for name in document.LEFT_OUT:
        # It is left out where it is None, and never written as null.
        (schema["properties"][name],) = (item for item in schema["properties"][name]["anyOf"] if "$ref" in item)
    return schema


def schema_bytes(document: type[Document]) -> bytes:
    """The schema as a file: sorted, indented, ending in a newline."""
    return json.dumps(schema_of(document), indent=1, sort_keys=True).encode("ascii") + b"\n"
