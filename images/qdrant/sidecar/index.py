"""What an index directory is: `index.json` (`pairbench/index` 1) beside the collections that a store opens."""

from __future__ import annotations

import json
import os

from sidecar.refusal import FatalError
from sidecar.store import COLLECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sidecar.reading import Json

FORMAT, VERSION = "pairbench/index", 1
DESCRIPTION = "index.json"


def describe(directory: str) -> dict[str, Json] | None:
    """Return what `index.json` says, or None where `directory` is missing or empty: an index of nothing.

    Raises:
        FatalError: when there is something, but no whole index.
    """
    if not os.path.isdir(directory) or not os.listdir(directory):
        return None
    path = os.path.join(directory, DESCRIPTION)
    try:
        with open(path, encoding="utf-8") as file:
            description: Json = json.load(file)
    except (OSError, ValueError) as error:
        raise FatalError(f"{path}: {directory} isn't a whole index: {error}") from error
    if not isinstance(description, dict) or (description.get("format"), description.get("version")) != (
        FORMAT,
        VERSION,
    ):
        raise FatalError(f"{path}: not a {FORMAT} of version {VERSION}")
    if not os.path.isdir(os.path.join(directory, COLLECTIONS)):
        raise FatalError(f"{directory}: the index has no {COLLECTIONS}/")
    return description
