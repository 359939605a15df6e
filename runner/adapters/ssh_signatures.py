"""The signatures port through the `ssh-keygen` program: `-Y sign` and `-Y verify` of ssh-keygen(1)."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runner.core.errors import EnvironmentNotReady

NAMESPACE: Final = "pairbench-review"
"""A signature made for anything else isn't one of a review."""
_IDENTITY: Final = "reviewer"
_TIMEOUT_S: Final = 60
_MOST_SIGNATURE_BYTES: Final = 1 << 14
"""Far above the longest: one by an RSA key of 16384 bits, the most that OpenSSH takes, has less than 6 KiB."""


@dataclass(frozen=True)
class SshSignatures:
    """Signatures by SSH keys."""

    program: str = "ssh-keygen"

    def sign(self, data: bytes, key: Path) -> bytes:
        """A signature of `data` with the private key at `key`; an agent is asked for one that has a passphrase."""
        done = self._run(["-q", "-Y", "sign", "-f", str(key.absolute()), "-n", NAMESPACE], data)
        if done.returncode or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
            raise EnvironmentNotReady(f"it can't sign: {_said(done)}", document=str(key), hint="give a private SSH key")
        return done.stdout

    def fault(self, data: bytes, signature: bytes, public_key: str) -> str:
        """Why `signature` isn't one of `data` by the holder of `public_key`; "" when it is."""
        if len(signature) > _MOST_SIGNATURE_BYTES:
            return f"no signature has {len(signature)} bytes"
        with tempfile.TemporaryDirectory(prefix="pairbench-signature-") as folder:
            allowed, given = Path(folder) / "allowed", Path(folder) / "signature"
            kind, _, rest = public_key.partition(" ")
            # Only what names the key: options and other names that a line could hold stay out.
            allowed.write_text(f'{_IDENTITY} namespaces="{NAMESPACE}" {kind} {rest.split(" ")[0]}\n', "utf-8")
            given.write_bytes(signature)
            options = ["-f", str(allowed), "-I", _IDENTITY, "-n", NAMESPACE, "-s", str(given)]
            done = self._run(["-Y", "verify", *options], data)
        return _said(done) if done.returncode else ""

    def _run(self, arguments: list[str], data: bytes) -> subprocess.CompletedProcess[bytes]:
        try:
            return subprocess.run(
                [self.program, *arguments], input=data, capture_output=True, check=False, timeout=_TIMEOUT_S
            )
        except OSError as error:
            raise EnvironmentNotReady(
                f"ssh-keygen can't be run: {error}", document="signatures", hint="install the OpenSSH client"
            ) from error
        except subprocess.TimeoutExpired as error:
            raise EnvironmentNotReady(
                f"ssh-keygen didn't end within {_TIMEOUT_S} s", document="signatures", hint="add the key to an agent"
            ) from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    said = (done.stderr + done.stdout).decode("utf-8", "replace").strip().splitlines()
    return said[0] if said else f"exit {done.returncode}"
