"""Which upstream does a mode have? Puts together what answers, what records and what keeps to the caps."""

from __future__ import annotations

import contextlib
import os
import ssl
from typing import TYPE_CHECKING

from gateway.capped import CappedUpstream
from gateway.cassette import read_cassette
from gateway.gateway import say
from gateway.live import LiveUpstream
from gateway.model_connection import ModelSide
from gateway.no_model import NoUpstream
from gateway.recording import RecordingUpstream
from gateway.replay import ReplayUpstream
from gateway.scripted import MODEL, ScriptedUpstream
from gateway.usage import RULE

try:
    import certifi
except ImportError:
    certifi = None

if TYPE_CHECKING:
    from gateway.cassette import Cassette
    from gateway.config import Config, UpstreamConfig
    from gateway.gateway import Upstream

KEY_LIMIT_BYTES = 16384


class Upstreams:
    """What answers in a configuration's mode, and the key that it may need."""

    def __init__(self, config: Config) -> None:
        """Everything is put together, and a key that is there already is taken.

        Raises:
            OSError: when a file that the configuration names can't be read.
            CassetteError: when its cassette can't.
        """
        self._config = config
        self._live: LiveUpstream | None = None
        self._cassette: Cassette | None = None
        inner = self._innermost(config)
        if config.recording:
            inner = RecordingUpstream(inner, config.masks)
        if config.spending is not None:
            inner = CappedUpstream(inner, config.spending)
        self.upstream: Upstream = inner
        if config.upstream is not None and os.path.exists(config.upstream.key_file):
            self._take_key(config.upstream.key_file)

    def facts(self) -> dict[str, object]:
        """What the ready line says of who plays the model."""
        config = self._config
        if config.mode == "scripted":
            return {"model": MODEL, "policy": f"{config.policy} {config.policy_version}", "usage_rule": RULE}
        if config.upstream is not None:
            return {"upstream": config.upstream.origin.authority}
        return {}

    def replayed(self) -> dict[str, object] | None:
        """What became of the cassette; None where none is played."""
        return None if self._cassette is None else self._cassette.replayed()

    def take_key(self) -> None:
        """The key was taken from its file, or it is said why not; the key itself is said nowhere."""
        if self._config.upstream is None:
            say("unkeyed", reason="this mode has no use for a key")
            return
        try:
            self._take_key(self._config.upstream.key_file)
        except (OSError, ValueError) as error:
            say("unkeyed", reason=type(error).__name__)
        else:
            say("keyed")

    def _take_key(self, path: str) -> None:
        with open(path, "rb") as file:
            key = file.read(KEY_LIMIT_BYTES).strip()
        if not key or not key.isascii() or not key.decode().isprintable():
            raise ValueError("the key is no line of printable ASCII")
        if self._live is not None:
            self._live.take_key(key)
        # It lives in this process from now on, and nowhere else.
        with contextlib.suppress(OSError):
            os.unlink(path)

    def _innermost(self, config: Config) -> Upstream:
        if config.upstream is not None:
            self._live = _live(config.upstream)
            return self._live
        if config.cassette is not None:
            with open(config.cassette, encoding="utf-8") as file:
                self._cassette = read_cassette(file.read())
            return ReplayUpstream(self._cassette, config.masks, timed=config.timed)
        if config.mode == "none":
            return NoUpstream()
        return ScriptedUpstream(config.seed, config.script)


def _live(upstream: UpstreamConfig) -> LiveUpstream:
    trust: ssl.SSLContext | None = None
    if upstream.origin.scheme == "https":
        bundle = upstream.ca_file or (certifi.where() if certifi is not None else None)
        trust = ssl.create_default_context(cafile=bundle)
        trust.set_alpn_protocols(["http/1.1"])
    return LiveUpstream(ModelSide(upstream.origin, trust), upstream.origin, upstream.auth)
