"""A licence is what a package states plainly; where it takes a judgement, there is none."""

from __future__ import annotations

import pytest

from runner.images.licences import debian_licence, wheel_licence

DEP_5 = "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"


@pytest.mark.parametrize(
    ("metadata", "licence"),
    [
        ("License-Expression: MIT", "MIT"),
        ("License-Expression: Apache-2.0 OR BSD-3-Clause", "Apache-2.0 OR BSD-3-Clause"),
        ("License-Expression: LicenseRef-Ours", ""),
        ("License-Expression: see the file", ""),
        ("License: ISC", "ISC"),
        ("License: BSD", ""),
        ("License: MIT or what you like", ""),
        ("Classifier: License :: OSI Approved :: MIT License", "MIT"),
        ("Classifier: License :: OSI Approved :: BSD License", ""),
        ("Classifier: License :: OSI Approved :: MIT License\nClassifier: License :: Other/Proprietary License", ""),
        ("License: Ours\nClassifier: License :: OSI Approved :: MIT License", ""),
        ("Classifier: Programming Language :: Python", ""),
    ],
)
def test_of_a_wheel(metadata: str, licence: str) -> None:
    """An expression; else a field or a classifier that means one licence."""
    assert wheel_licence(f"Metadata-Version: 2.4\nName: a\n{metadata}\n\nA text.\nLicense: MIT\n".encode()) == licence


def test_of_what_is_no_metadata() -> None:
    """A wheel without any states nothing, and neither do bytes."""
    assert wheel_licence(b"") == ""
    assert wheel_licence(b"\xff\xfe\0") == ""


@pytest.mark.parametrize(
    ("text", "licence"),
    [
        (f"{DEP_5}\nFiles: *\nLicense: GPL-2+\n", "GPL-2.0-or-later"),
        (f"{DEP_5}\nFiles: *\nLicense: Expat\n\nFiles: debian/*\nLicense: Expat\n\nLicense: Expat\n Free.\n", "MIT"),
        (f"{DEP_5}\nFiles: *\nLicense: Expat\n\nFiles: debian/*\nLicense: GPL-2+\n", ""),
        (f"{DEP_5}\nFiles: *\nLicense: BSD\n", ""),
        (f"{DEP_5}\nFiles: *\nLicense: GPL-2+ or Artistic\n", ""),
        ("Files: *\nLicense: Expat\n", ""),
        ("Copyright by us. License: Expat, as you find it.", ""),
        ("", ""),
    ],
)
def test_of_a_debian_package(text: str, licence: str) -> None:
    """One short name, used throughout a machine-readable file."""
    assert debian_licence(text.encode()) == licence


def test_of_a_file_in_another_encoding() -> None:
    """Old copyright files aren't UTF-8."""
    assert debian_licence(b"Copyright \xa9 1997\n") == ""
