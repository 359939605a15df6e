"""When do two texts of a corpus say the same, and when does one stand in another?"""

from __future__ import annotations

import unicodedata


def folded(text: str) -> str:
    """`text` in NFC, white space folded to single blanks, none at its ends."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def contains(text: str, part: str) -> bool:
    """Whether `part` stands in `text`, both folded; nothing contains the empty text."""
    wanted = folded(part)
    return bool(wanted) and wanted in folded(text)
