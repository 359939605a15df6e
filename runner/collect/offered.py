"""What a client started with, where only its first model request shows it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runner.core.quantities import Unavailable

if TYPE_CHECKING:
    from runner.clients.client import Client, ClientReport
    from runner.collect.documents import Documents
    from runner.core.evidence import Exchange, Expectation


def with_start(report: ClientReport, client: Client, documents: Documents, expectation: Expectation) -> ClientReport:
    """The report, with the start that the first model request shows where the client's output says nothing of it."""
    request = _first_request(documents)
    if report.starts or request is None or request.unlisted_tools:
        return report
    start = client.start_of(request.tools, expectation.mcp_servers)
    return report if start is None else replace(report, starts=(start,))


def _first_request(documents: Documents) -> Exchange | None:
    """The client's first request that was let through to a model; None where there is none."""
    log = documents.exchanges
    if isinstance(log, Unavailable):
        return None
    return next((one for one in log.exchanges if one.owner == "client" and one.refused is None), None)
