"""A line is a public SSH key, or it is said why not."""

from __future__ import annotations

import base64
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from runner.core.reconsolidation.ssh_keys import key_fault, key_identity

if TYPE_CHECKING:
    from pathlib import Path


def blob(*parts: bytes) -> str:
    return base64.b64encode(b"".join(len(part).to_bytes(4, "big") + part for part in parts)).decode()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"ssh-ed25519 {blob(b'ssh-ed25519', b'k' * 32)}", ""),
        (f"ssh-ed25519 {blob(b'ssh-ed25519', b'k' * 32)} ada at home", ""),
        (f"sk-ssh-ed25519@openssh.com {blob(b'sk-ssh-ed25519@openssh.com', b'k' * 32, b'ssh:')}", ""),
        ("ssh-ed25519 AAAA", "what follows ssh-ed25519 is no key of that kind: it was cut, or mistyped"),
        ("ssh-ed25519", "it was cut, or mistyped"),
        ("ssh-ed25519 not*base64", "it was cut, or mistyped"),
        (f"ssh-ed25519 {blob(b'ssh-ed25519', b'k' * 32)[:-4]}", "it was cut, or mistyped"),
        (f"ssh-ed25519 {blob(b'ssh-rsa', b'k' * 32)}", "it was cut, or mistyped"),
        (f"ssh-ed25519 {blob(b'ssh-ed25519', b'k' * 31)}", "it has another length"),
        (f"ssh-rsa {blob(b'ssh-rsa', b'1', b'k' * 31)}", "it has another length"),
        (f"ssh-dss {blob(b'ssh-dss', b'k' * 32)}", "'ssh-dss' is no kind of key that signs"),
        (f"SSH-ed25519 {blob(b'ssh-ed25519', b'k' * 32)}", "'SSH-ed25519' is no kind of key that signs"),
    ],
)
def test_what_is_a_key_is_told_by_its_bytes(line: str, expected: str) -> None:
    """A key that was cut would only be found when decisions that took an hour can't be handed in."""
    found = key_fault(line)
    assert found == "" if not expected else expected in found


@pytest.mark.parametrize("kind", [("ed25519",), ("rsa", "-b", "2048"), ("ecdsa", "-b", "521")])
def test_keys_of_the_real_program_are_keys(tmp_path: Path, kind: tuple[str, ...]) -> None:
    """Of every kind that it makes without a token."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen isn't installed")
    subprocess.run(["ssh-keygen", "-q", "-t", *kind, "-N", "", "-f", str(tmp_path / "key")], check=True)
    line = (tmp_path / "key.pub").read_text("utf-8").strip()
    assert key_fault(line) == ""
    assert key_identity(line) == key_identity(" ".join(line.split(" ")[:2])) != b""
