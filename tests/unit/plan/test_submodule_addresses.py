"""Where a submodule is fetched from, which the repository above it declares."""

from __future__ import annotations

import pytest

from runner.plan.git_parts import submodule_url


@pytest.mark.parametrize(
    ("parent", "url", "found"),
    [
        ("https://example.org/a/b.git", "../c.git", "https://example.org/a/c.git"),
        ("https://example.org/a/b.git", "./c.git", "https://example.org/a/b.git/c.git"),
        ("https://example.org/a/b", "../../d/c", "https://example.org/d/c"),
        ("https://example.org/a/b", "https://other.example/c", "https://other.example/c"),
        ("ssh://git@example.org/a/b", "../c", "ssh://git@example.org/a/c"),
        ("https://example.org/a/b", "git@example.org:x/c.git", "ssh://git@example.org/x/c.git"),
        ("https://example.org/a/b", "example.org:/x/c.git", "ssh://example.org/x/c.git"),
        ("file:///srv/b.git", "../c.git", "file:///srv/c.git"),
        ("file:///srv/b.git", "file:///srv/d.git", "file:///srv/d.git"),
    ],
)
def test_an_address_is_resolved_as_git_does(parent: str, url: str, found: str) -> None:
    """Relative ones against the repository's own; the short form of ssh in its long one."""
    assert submodule_url(parent, url) == found


@pytest.mark.parametrize(
    "url",
    [
        "",
        "/srv/c",
        "http://example.org/c",
        "git://example.org/c",
        "ext::sh -c id",
        "-x",
        "https://user:password@example.org/c",
        "ssh://-oProxyCommand=id/c",
        "file:///etc",
        "https://example.org/c d",
        "https://example.org/c?d",
    ],
)
def test_no_other_address_is_gone_to(url: str) -> None:
    """Nor may a repository of somebody else's choose files of this machine."""
    with pytest.raises(ValueError, match="its URL "):
        submodule_url("https://example.org/a/b", url)
