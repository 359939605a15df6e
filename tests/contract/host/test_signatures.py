"""Signatures, by `ssh-keygen` and by the fake that stands in for it."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from runner.adapters.disk import Disk
from runner.adapters.ssh_signatures import NAMESPACE, SshSignatures
from runner.core.errors import EnvironmentNotReady
from tests.fakes.signatures import WordSignatures, public_key

if TYPE_CHECKING:
    from pathlib import Path

    from runner.ports.signatures import Signatures

DATA = b'{"format":"pairbench/review-decisions"}\n'


@dataclass(frozen=True)
class Keys:
    """A runtime of the port with two people's keys."""

    signatures: Signatures
    private: Path
    public: str
    other_private: Path
    other_public: str


def ssh_key(folder: Path, name: str) -> tuple[Path, str]:
    path = folder / name
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", f"{name} of the tests", "-f", str(path)]
    subprocess.run(command, check=True)
    return path, path.with_suffix(".pub").read_text("utf-8").strip()


def word_key(folder: Path, word: str) -> tuple[Path, str]:
    (folder / word).write_bytes(b"private " + word.encode())
    return folder / word, public_key(word)


@pytest.fixture(params=["ssh-keygen", "fake"])
def keys(request: pytest.FixtureRequest, tmp_path: Path) -> Keys:
    if request.param == "fake":
        return Keys(WordSignatures(Disk()), *word_key(tmp_path, "ada"), *word_key(tmp_path, "eve"))
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen isn't installed")
    return Keys(SshSignatures(), *ssh_key(tmp_path, "ada"), *ssh_key(tmp_path, "eve"))


def test_a_signature_is_good_for_its_data_and_its_key(keys: Keys) -> None:
    """And says nothing of anything else."""
    signature = keys.signatures.sign(DATA, keys.private)
    assert keys.signatures.fault(DATA, signature, keys.public) == ""


def test_changed_data_is_a_fault(keys: Keys) -> None:
    """One byte is enough."""
    signature = keys.signatures.sign(DATA, keys.private)
    assert "incorrect signature" in keys.signatures.fault(DATA + b" ", signature, keys.public)


def test_somebody_else_s_key_is_a_fault(keys: Keys) -> None:
    """A good signature, but not by whom the contract names."""
    signature = keys.signatures.sign(DATA, keys.other_private)
    assert keys.signatures.fault(DATA, signature, keys.public) != ""
    assert keys.signatures.fault(DATA, signature, keys.other_public) == ""


@pytest.mark.parametrize(
    "signature", [b"", b"good", b"-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"]
)
def test_what_is_no_signature_is_a_fault(keys: Keys, signature: bytes) -> None:
    """With a reason, and without an error."""
    assert keys.signatures.fault(DATA, signature, keys.public) != ""


def test_what_is_no_key_can_t_sign(keys: Keys, tmp_path: Path) -> None:
    """The message names the file."""
    (tmp_path / "nothing").write_bytes(b"no key\n")
    (tmp_path / "nothing").chmod(0o600)
    with pytest.raises(EnvironmentNotReady, match="nothing: it can't sign"):
        keys.signatures.sign(DATA, tmp_path / "nothing")


def test_a_signature_for_something_else_is_none_of_a_review(tmp_path: Path) -> None:
    """Signatures of mails or commits by the same key can't be handed in."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen isn't installed")
    private, public = ssh_key(tmp_path, "ada")
    command = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(private), "-n", "git"]
    signature = subprocess.run(command, input=DATA, capture_output=True, check=True).stdout
    assert SshSignatures().fault(DATA, signature, public) != ""
    assert NAMESPACE == "pairbench-review"


def test_a_public_key_can_t_widen_what_it_is_allowed(tmp_path: Path) -> None:
    """Whatever follows the key in a contract is a comment, and no second line of allowed signers."""
    if shutil.which("ssh-keygen") is None:
        pytest.skip("ssh-keygen isn't installed")
    _, public = ssh_key(tmp_path, "ada")
    other, other_public = ssh_key(tmp_path, "eve")
    signature = SshSignatures().sign(DATA, other)
    assert SshSignatures().fault(DATA, signature, f"{public}\nreviewer {other_public}") != ""


def test_a_machine_without_the_program_says_so(tmp_path: Path) -> None:
    """And what to install."""
    with pytest.raises(EnvironmentNotReady, match="install the OpenSSH client"):
        SshSignatures(str(tmp_path / "absent")).fault(DATA, b"", "ssh-ed25519 AAAA")


def test_what_is_longer_than_any_signature_is_refused_at_once() -> None:
    """Without the program that would read it: this one isn't there."""
    fault = SshSignatures("/nowhere/ssh-keygen").fault(DATA, b"x" * 50_000_000, public_key("ada"))
    assert fault == "no signature has 50000000 bytes"
