"""What a client started with, where only its first model request shows it."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from typing import TYPE_CHECKING

from runner.core.events import Corrupt, json_objects
from runner.core.evidence import BODIES
from runner.core.quantities import Unavailable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runner.clients.client import Client, ClientReport
    from runner.collect.documents import Documents
    from runner.core.canonical import Json
    from runner.core.evidence import Expectation


def with_start(
    report: ClientReport, client: Client, documents: Documents, files: Mapping[str, bytes], expectation: Expectation
) -> ClientReport:
    """The report, with the start that the first model request shows where the client's output says nothing of it."""
    if report.starts:
        return report
    request = _first_request(documents, files.get(BODIES, b""))
    start = client.start_of(request, expectation.mcp_servers) if request is not None else None
    return report if start is None else replace(report, starts=(start,))


def _first_request(documents: Documents, bodies: bytes) -> bytes | None:
    """The body of the client's first request that was let through to a model; None where it isn't kept."""
    log = documents.exchanges
    if isinstance(log, Unavailable):
        return None
    wanted = next((one.seq for one in log.exchanges if one.owner == "client" and one.refused is None), None)
    if wanted is None:
        return None
    for _, item in json_objects(bodies):
        if not isinstance(item, Corrupt) and item.get("seq") == wanted:
            return _body(item.get("request"))
    return None


def _body(value: Json) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    encoded = value.get("base64") if isinstance(value, dict) else None
    try:
        return base64.b64decode(encoded) if isinstance(encoded, str) else None
    except (binascii.Error, ValueError):
        return None
