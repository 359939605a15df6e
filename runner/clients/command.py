"""Any program as the client: it reads its prompt, its answer is what it prints, its exit code is its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from runner.clients.client import ClientReport, Ending
from runner.clients.report import last_words
from runner.core.errors import StudyError
from runner.core.events import plain_text
from runner.core.launch import IN_FOLDER, PROMPT_NAME, PodLaunch, client_environment, make_launch
from runner.core.quantities import Unavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runner.core.launch import LaunchRequest, McpServer

_UNSAID: Final = Unavailable("a command reports none")


class Command:
    """The adapter of kind `command`."""

    kind = "command"

    def launch(self, request: LaunchRequest) -> PodLaunch:
        """What starts the program; raises `StudyError` for what a bare program can't be given."""
        if not request.command:
            raise StudyError("a command client needs its command", key="client.command")
        unusable = [
            name
            for name, value in (
                ("tools", request.tools),
                ("mcp_servers", request.mcp_servers),
                ("instructions", request.instructions),
                ("max_turns", request.max_turns),
            )
            if value
        ]
        if unusable:
            raise StudyError(f"a command client takes no {', no '.join(unusable)}", key="client.kind")
        own = {
            "ANTHROPIC_API_KEY": request.gateway_token,
            "ANTHROPIC_BASE_URL": request.gateway_url(),
            "OPENAI_API_KEY": request.gateway_token,
            "OPENAI_BASE_URL": f"{request.gateway_url()}/v1",
            "PAIRBENCH_PROMPT_FILE": f"{IN_FOLDER}/{PROMPT_NAME}",
        }
        if request.model:
            own["PAIRBENCH_MODEL"] = request.model
        if request.max_output_tokens is not None:
            own["PAIRBENCH_MAX_OUTPUT_TOKENS"] = str(request.max_output_tokens)
        return make_launch(
            request,
            argv=(*request.command, *request.args),
            env=client_environment(own, request.env),
            prompt_on_stdin=True,
        )

    def parse(self, stdout: bytes, stderr: bytes) -> ClientReport:
        """Its answer: what it printed, without trailing white space; bytes that aren't UTF-8 are replaced."""
        return ClientReport(
            starts=(),
            answer=plain_text(stdout.decode("utf-8", "replace").rstrip()),
            ending=Ending.BY_EXIT_CODE,
            reason=last_words(stderr),
            reported=(),
            cost_microusd=_UNSAID,
            turns=_UNSAID,
            tool_calls=(),
            models=(),
            retries=0,
            denied=(),
            corrupt_lines=0,
            findings=(),
        )

    def start_of(self, tools: Sequence[str], servers: Sequence[McpServer]) -> None:
        """Nothing: a bare program has no start that anybody could know."""
