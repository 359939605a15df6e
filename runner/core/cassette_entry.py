"""What does every entry of a cassette hold? What a gateway needs to play it; whatever else it says is left alone."""

from __future__ import annotations

import base64
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, field_validator, model_validator

from runner.core.usage import TOKEN_CLASSES


class _Held(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")


class Seen(_Held):
    """What was observed of the answer."""

    model_asked: str | None
    model_resolved: str | None
    stop_reason: str | None
    streamed: bool
    usage: dict[str, Any]
    details: dict[str, Any] | None

    @field_validator("usage")
    @classmethod
    def _is_usage(cls, usage: dict[str, Any]) -> dict[str, Any]:
        if _is_unavailable(usage):
            return usage
        if set(usage) != set(TOKEN_CLASSES):
            raise ValueError(f"must have the classes {', '.join(TOKEN_CLASSES)}, or say why it is unavailable")
        for name, tokens in usage.items():
            is_count = isinstance(tokens, int) and not isinstance(tokens, bool) and tokens >= 0
            if not is_count and not _is_unavailable(tokens):
                raise ValueError(f"{name} must be a number of tokens, or say why it is unavailable")
        return usage


class CassetteEntry(_Held):
    """One recorded exchange of one trial."""

    task: str
    arm: str
    repetition: int
    seq: int
    key: str
    parts: dict[str, str]
    status: int | None
    headers: list[tuple[str, str]]
    length_bytes: int | None
    head_us: int
    piece_bytes: list[int]
    piece_us: list[int]
    ended: Literal["whole", "closed", "reset", "client_gone"]
    body: Any
    seen: Seen
    entry_sha256: str
    """Of everything else that the entry says, in canonical JSON."""

    @model_validator(mode="after")
    def _pieces_make_up_the_body(self) -> Self:
        size = len(_data_of(self.body))
        if len(self.piece_bytes) != len(self.piece_us) or min(self.piece_bytes, default=0) < 0:
            raise ValueError("each of piece_bytes needs a time in piece_us")
        if sum(self.piece_bytes) < size:
            raise ValueError(f"the pieces have {sum(self.piece_bytes)} bytes, and the body has {size}")
        if self.length_bytes is not None and self.length_bytes < size:
            raise ValueError(f"length_bytes says {self.length_bytes}, and the body has {size}")
        return self


def _data_of(body: object) -> bytes:
    if isinstance(body, str):
        return body.encode("utf-8", "surrogatepass")
    if isinstance(body, dict) and isinstance(body.get("base64"), str):
        try:
            return base64.b64decode(body["base64"], validate=True)
        except ValueError as error:
            raise ValueError("body is no base64") from error
    raise ValueError('body must be text, or { "base64": … }')


def _is_unavailable(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {"unavailable"} and isinstance(value["unavailable"], str)
