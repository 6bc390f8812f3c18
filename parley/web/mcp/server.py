"""The server: its tools, resources and prompts, registered. Who asks, and which folders may be read, is given to it."""

import secrets
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import MCPServer, RequestStateSecurity
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.tools.base import Tool
from mcp.types import ToolAnnotations
from pydantic import Field

from parley.bus.errors import BusError, UnknownSession
from parley.client.errors import BadInput, ParleyError
from parley.client.protocols import setup_of
from parley.client.records import record_of
from parley.client.rendering.terminal import markdown
from parley.web import program_sessions, verdicts
from parley.web.errors import http_error
from parley.web.mcp.following import Asking
from parley.web.mcp.options import SESSION, CheckedTool, Iterations, flat
from parley.web.mcp.tools import Tools, Who
from parley.web.offered_models import Offers

NAME = "parley"
_STATE_S = 86_400.0
"""So long a call may be made again with a person's answer."""
_INSTRUCTIONS = (
    "Several agents argue a question, and a moderator measures when they agree. Use iterative_debate for a question "
    "that deserves a second opinion, ask for another protocol, route to see which experts a task calls for. A debate "
    "takes from seconds to many minutes: start_debate with get_debate does not block. Where `agreed` is false, say "
    "that they did not agree; never present the answer as a consensus."
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_ASKS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True)
_ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


def make_server(
    who: Who,
    offers: Offers,
    roots: Sequence[Path] = (),
    *,
    secret: bytes | None = None,
    name_of: Callable[[ServerRequestContext[Any, Any]], str | None] | None = None,
) -> MCPServer[Any]:
    """The server.

    Parameters
    ----------
    who
        Whoever asks: its connection.
    roots
        Folders under which `projectPath` may lie.
    secret
        Seals what a client carries between two tries of one call: the same for all copies. None: a key of this process.
    name_of
        Whose call it is: what one carries is worth nothing to another. None: there is only one.
    """
    keys = [secret or secrets.token_bytes(32)]
    security = RequestStateSecurity(keys=keys, ttl=_STATE_S, bind_principal=name_of)
    tools = Tools(who, offers, roots)
    made: list[Tool] = []
    for tool, title, hints in (
        (flat(tools.iterative_debate, Iterations), "Debate until they agree", _ASKS),
        (flat(tools.ask, SESSION), "Ask a question", _ASKS),
        (flat(tools.start_debate, SESSION), "Start a debate", _ASKS),
        (tools.get_debate, "Read a debate", _READS),
        (tools.stop_debate, "Stop a debate", _ENDS),
        (tools.explain, "Explain why a debate stopped", _READS),
        (tools.replay_what_if, "Replay under other settings", _READS),
        (tools.route, "Choose experts for a task", _READS),
    ):
        about = " ".join((tool.__doc__ or "").split())
        made.append(CheckedTool.of(tool, title=title, description=about, annotations=hints))
    server: MCPServer[Any] = MCPServer(
        NAME,
        title="Parley",
        version=_version(),
        instructions=_INSTRUCTIONS,
        log_level="WARNING",
        tools=made,
        request_state_security=security,
        warn_on_duplicate_tools=True,
        subscriptions=False,
    )
    _resources(server, who)
    for name in offers.names:
        about = setup_of(offers.of(name).protocol).about
        server.prompt(name, f"Ask by {name}", about)(_prompt(name))
    return server


def _prompt(name: str) -> Callable[[str], str]:
    """What a person has asked by choosing a protocol or a saved panel; clients offer it as a command."""

    def prompt(question: Annotated[str, Field(description="What is asked.")]) -> str:
        return (
            f"Call the tool `ask` of {NAME} with the protocol {name} and this question:\n\n{question}\n\n"
            "Then tell me the answer, how sure it is and what that rests on, and who dissents. If `agreed` is false, "
            "say that they did not agree."
        )

    return prompt


def _resources(server: MCPServer[Any], who: Who) -> None:
    async def transcript(session: str, ctx: Asking) -> str:
        try:
            client = (await who(ctx)).client
            view = await program_sessions.so_far(client, session)
            if client.owner:
                return "\n".join(markdown(record_of(session, await client.log(session))))
            return "\n".join(markdown(view))
        except (ParleyError, BusError) as error:
            raise _no_resource(error, session) from error

    async def certificate(session: str, ctx: Asking) -> str:
        try:
            result = (await program_sessions.so_far((await who(ctx)).client, session)).result
            if result is None:
                raise BadInput("session", f"{session} is still open: it has no certificate yet")
            return msgspec.json.encode(verdicts.figures(result)).decode()
        except (ParleyError, BusError) as error:
            raise _no_resource(error, session) from error

    server.resource(
        "parley://sessions/{session}/transcript",
        name="transcript",
        title="Transcript",
        mime_type="text/markdown",
        description="All that was said in a session, as far as you may read it.",
    )(transcript)
    server.resource(
        "parley://sessions/{session}/certificate",
        name="certificate",
        title="Stop certificate",
        mime_type="application/json",
        description="Why a session stopped, with the figures that this rests on.",
    )(certificate)


def _no_resource(error: ParleyError | BusError, sid: str) -> ResourceError:
    message = http_error(error)[2]
    if isinstance(error, UnknownSession):
        return ResourceNotFoundError(f"session: there is no session {sid}, or you may not read it")
    return ResourceNotFoundError(message) if isinstance(error, BadInput) else ResourceError(message)


def _version() -> str:
    try:
        return metadata.version("parley")
    except metadata.PackageNotFoundError:
        return "0"
