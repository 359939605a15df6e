"""The licence that a package states plainly, as an SPDX expression; "" wherever reading it would be judging it.

Only what needs no lawyer counts: the licence expression of a wheel's metadata (PEP 639), or a field or classifier that
means one licence; for a Debian package a machine-readable copyright file (DEP 5) that has one short name and no other.
"""

from __future__ import annotations

import re
from email import message_from_bytes
from email.errors import MessageError

# SPDX identifiers of the short names of DEP 5 that mean exactly one licence; "BSD" alone doesn't.
_DEBIAN = {
    "Apache-2.0": "Apache-2.0",
    "Artistic-2.0": "Artistic-2.0",
    "BSD-2-clause": "BSD-2-Clause",
    "BSD-3-clause": "BSD-3-Clause",
    "BSD-4-clause": "BSD-4-Clause",
    "CC0-1.0": "CC0-1.0",
    "Expat": "MIT",
    "GPL-1": "GPL-1.0-only",
    "GPL-1+": "GPL-1.0-or-later",
    "GPL-2": "GPL-2.0-only",
    "GPL-2+": "GPL-2.0-or-later",
    "GPL-3": "GPL-3.0-only",
    "GPL-3+": "GPL-3.0-or-later",
    "ISC": "ISC",
    "LGPL-2": "LGPL-2.0-only",
    "LGPL-2+": "LGPL-2.0-or-later",
    "LGPL-2.1": "LGPL-2.1-only",
    "LGPL-2.1+": "LGPL-2.1-or-later",
    "LGPL-3": "LGPL-3.0-only",
    "LGPL-3+": "LGPL-3.0-or-later",
    "MPL-2.0": "MPL-2.0",
    "Zlib": "Zlib",
}
_CLASSIFIERS = {
    "License :: CC0 1.0 Universal (CC0 1.0) Public Domain Dedication": "CC0-1.0",
    "License :: OSI Approved :: ISC License (ISCL)": "ISC",
    "License :: OSI Approved :: MIT License": "MIT",
    "License :: OSI Approved :: Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}
_PLAIN = frozenset(
    {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MPL-2.0", "PSF-2.0", "Unlicense", "Zlib"}
)
_EXPRESSION = re.compile(r"[A-Za-z0-9.+-]+( (AND|OR|WITH) [A-Za-z0-9.+-]+)*")
_DEP_5 = re.compile(r"^Format: *https?://www\.debian\.org/doc/packaging-manuals/copyright-format/1\.0/?$", re.MULTILINE)
_FIELD = re.compile(r"^License:[ \t]*(.*)$", re.MULTILINE)


def wheel_licence(metadata: bytes) -> str:
    """The licence that a wheel's `METADATA` states; "" where it is several fields' guess, a text or nothing."""
    try:
        stated = message_from_bytes(metadata)
        expression = str(stated.get("License-Expression") or "").strip()
        field = str(stated.get("License") or "").strip()
        classifiers = [str(line) for line in stated.get_all("Classifier", []) if str(line).startswith("License :: ")]
    except (MessageError, ValueError):
        return ""
    if expression:
        # A reference of its own would have to come with its text.
        return expression if _EXPRESSION.fullmatch(expression) and "LicenseRef-" not in expression else ""
    if field in _PLAIN:
        return field
    return _CLASSIFIERS.get(classifiers[0], "") if len(classifiers) == 1 and not field else ""


def debian_licence(copyright_file: bytes) -> str:
    """The one licence of a package by its copyright file; "" where that has several, or isn't machine-readable."""
    text = copyright_file.decode("utf-8", "replace")
    if not _DEP_5.search(text):
        return ""
    names = {name.strip() for name in _FIELD.findall(text)}
    return _DEBIAN.get(names.pop(), "") if len(names) == 1 else ""
