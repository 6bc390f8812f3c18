"""Calls of tools: servers started by the official SDK over stdio, in the task's folder, as the allow list says.

A server lives in a task of its own, because the SDK has to be opened and closed by the same one, and so that a turn
that is cancelled twice still ends its servers. One that was too slow is ended, and started anew by the next call: what
it was still doing must not reach the folder later.
"""

import asyncio
import importlib
import inspect
import json
import logging
import os
import re
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from parley.agents.text.inside import texts
from parley.agents.tools import launch
from parley.agents.tools.allow import AllowList, Tool, ToolServer, filled
from parley.agents.tools.errors import Errors
from parley.agents.tools.folder import FolderError, TaskFolder, TooLarge
from parley.agents.tools.paths import Outside
from parley.agents.tools.steps import ENDED, MOST_ENDED, Call
from parley.observability import genai, tracing
from parley.schemas.tools import START, ToolCall

if TYPE_CHECKING:
    from mcp import Client

_LOGGER = logging.getLogger(__name__)
MOST_RECORDED = 2_000
MOST_WHOLE = 400_000
"""Characters of one result that are kept beside the record."""
"""Characters of arguments and of a result in the record of a call."""
MOST_ARGUMENTS = 200_000
_DESCRIPTION, _SCHEMA = 600, 3_000
_SEPARATORS = re.compile(r"[\s=:;,'\"|&<>()\[\]{}]+")
_CLOSE_S = 12.0
_REASON = 160
"""Characters of the last line of a server that did not start."""
_SECRET = 6
"""A variable's value with at least so many characters is left out of what a server that does not start says."""
_LEAST_SECRET = 16
"""The same of what a result shows: a shorter value may be a word of any file."""
MASK = "(from the allow list)"
"""What is shown in place of a secret."""


class CallRefused(Exception):
    """A call that is not made. Names the argument, the value and why."""


class Offered(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as a model is shown it."""

    server: str
    tool: str
    description: str
    arguments: Any
    """Its JSON schema, or the schema as text, cut."""


class Called(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a call."""

    record: ToolCall
    text: str
    """The result as a model is shown it."""
    full_text: str = ""
    """All of the result, cut at MOST_WHOLE, if the record holds less."""


class _Answer(NamedTuple):
    """The answer to a call."""

    ok: bool
    text: str
    ended: str = ""
    """How the command ended that the call ran; empty: it ran none."""

    def failed(self, *why: str) -> "_Answer":
        """The same as a failed call, with the reasons below its text."""
        return self._replace(ok=False, text="\n".join([self.text, *(f"[{x}]" for x in why)]))


class _Running:
    """One started server."""

    def __init__(self, name: str, server: ToolServer, folder: TaskFolder, check: str) -> None:
        self._check = check
        self._name = name
        self._server = server
        self._folder = folder
        self._over = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._own())
        _OWNERS.add(self._task)
        self._task.add_done_callback(_OWNERS.discard)

    async def client(self) -> "Client":
        """The session with it, once it has started. Raises what its start raised."""
        return await asyncio.shield(self._ready)

    @property
    def alive(self) -> bool:
        """Whether its owner still holds it."""
        return not self._task.done() and not self._over.is_set()

    async def close(self) -> None:
        """End it: close its input, then ask it to end, then kill it. This goes on by itself if the caller is
        cancelled."""
        self._over.set()
        if not self._ready.done():
            self._task.cancel()
        await asyncio.wait({self._task}, timeout=_CLOSE_S)

    async def _own(self) -> None:
        from mcp import Client, StdioServerParameters  # for workers whose operator allows tools
        from mcp.client.stdio import stdio_client

        logging.getLogger("mcp").setLevel(logging.CRITICAL)  # it would log what servers say

        folder, home = self._folder.root, self._folder.home
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "HOME": str(home),
            **{name: filled(value, folder, self._check) for name, value in self._server.env.items()},
        }
        command = [filled(part, folder, self._check) for part in self._server.command]
        parameters = StdioServerParameters(
            command=sys.executable,
            args=["-I", "-S", launch.__file__, str(os.getpid()), ",".join(environment), "--", *command],
            env=environment,
            cwd=str(folder),
            encoding_error_handler="replace",
        )
        errors_file = Errors()
        try:
            with errors_file as errors:
                async with Client(stdio_client(parameters, errors)) as client:
                    if not self._ready.done():
                        self._ready.set_result(client)
                    await self._over.wait()
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # the SDK's task groups raise groups
            if self._ready.done():
                _LOGGER.info("tool server %s ended: %s", self._name, type(error).__name__)
            else:
                wrote = _safe(errors_file.text(), self._server, self._folder)[-500:] or "nothing"
                _LOGGER.warning("tool server %s did not start; it wrote: %s", self._name, wrote)
                last = _safe(errors_file.last_line(), self._server, self._folder)[:_REASON]
                why = f"it did not start: {last}" if last else "it did not start"
                self._ready.set_exception(ToolServerFailed(self._name, why))
                self._ready.exception()  # looked at, whether anybody waits or not
        finally:
            if not self._ready.done():
                self._ready.set_exception(ToolServerFailed(self._name, "it was ended before it had started"))
                self._ready.exception()


_OWNERS: set[asyncio.Task[None]] = set()
"""Kept here, so that a server is ended even if its turn is gone."""


class ToolServerFailed(Exception):
    """A server that cannot be used. Names it."""

    def __init__(self, name: str, why: str) -> None:
        self.why = why
        super().__init__(f"tools.servers.{name}: {why}")


class Toolbox:
    """The tools of one turn, in one folder. An async context manager; at its end its servers are gone."""

    def __init__(self, allowed: AllowList, folder: TaskFolder, check: str = "") -> None:
        self._check = check
        self._allowed = allowed
        self._folder = folder
        self._running: dict[str, _Running] = {}
        self._secrets = tuple(dict.fromkeys(x for s in allowed.servers.values() for x in _secrets(s)))
        self._has_masked = False
        self.offered: tuple[Offered, ...] = ()
        self.missing: tuple[ToolCall, ...] = ()
        """A record for each server that cannot be used, or not with all of its tools: it says why."""

    async def __aenter__(self) -> "Toolbox":
        await asyncio.to_thread(importlib.import_module, "mcp")  # over a second, and heartbeats go on
        try:
            started = await asyncio.gather(*(self._try(name) for name in self._allowed.servers))
        except BaseException:
            await self.close()
            raise
        self.offered = tuple(tool for offered, _ in started for tool in offered)
        self.missing = tuple(record for _, record in started if record is not None)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def runs(self) -> bool:
        """Whether an offered tool runs commands."""
        return any(self._allowed.servers[tool.server].sandbox for tool in self.offered)

    async def close(self) -> None:
        """End all servers."""
        running, self._running = list(self._running.values()), {}
        await asyncio.gather(*(server.close() for server in running))

    async def _start(self, name: str) -> "Client":
        server = self._running.get(name)
        if server is None or not server.alive:
            server = self._running[name] = _Running(name, self._allowed.servers[name], self._folder, self._check)
        timeout_s = self._allowed.servers[name].timeout_s
        try:
            async with asyncio.timeout(timeout_s):
                return await server.client()
        except TimeoutError:
            await server.close()
            raise ToolServerFailed(name, f"it did not start within {timeout_s:g} s") from None

    async def _try(self, name: str) -> tuple[list[Offered], ToolCall | None]:
        """(the tools of a server that are there, why others are not)."""
        started = time.perf_counter()
        try:
            listed = await self._list(name, await self._start(name))
        except ToolServerFailed as error:
            _LOGGER.warning("%s; turns go on without its tools", error)
            return [], _not_there(name, error.why, started)
        wanted = self._allowed.servers[name].tools
        offered = [_offered(name, listed[tool]) for tool in wanted if tool in listed]
        lacks = [tool for tool in wanted if tool not in listed]
        if not lacks:
            return offered, None
        offers = ", ".join(sorted(listed))[:400] or "none"
        why = f"it has no tool {', '.join(map(repr, lacks))}; it offers {offers}"
        _LOGGER.warning("tools.servers.%s: tools: %s", name, why)
        return offered, _not_there(name, why, started)

    async def _list(self, name: str, client: "Client") -> dict[str, Any]:
        """What a server offers, by name. Raises ToolServerFailed."""
        listed: dict[str, Any] = {}
        cursor: str | None = None
        try:
            async with asyncio.timeout(self._allowed.servers[name].timeout_s):
                while True:
                    page = await client.list_tools(cursor=cursor)
                    listed |= {t.name: t for t in page.tools}
                    cursor = page.next_cursor
                    if cursor is None or len(listed) > 1_000:
                        return listed
        except Exception as error:  # whatever a foreign server makes the SDK raise
            raise ToolServerFailed(name, f"it does not list its tools ({type(error).__name__})") from None

    async def call(self, call: Call, left_s: float) -> Called:
        """Make one call, if it is allowed, within its server's time-out and what is left of the turn.

        Never raises for what the call or its server did wrong: that is its result. Afterwards the folder holds nothing
        that it may not.
        """
        started = time.perf_counter()
        try:
            answer = await self._make(call, left_s)
        except (CallRefused, Outside) as error:
            answer = _Answer(False, f"The call was refused: {error}")
        server = self._allowed.servers.get(call.server)
        text, arguments, ended = map(self._masked, (answer.text, call.arguments, answer.ended))
        most = server.output_chars if server is not None else MOST_RECORDED
        record = ToolCall(
            server=call.server[:100],
            tool=call.tool[:200],
            arguments=arguments[:MOST_RECORDED],
            ok=answer.ok,
            result=text[:MOST_RECORDED],
            seconds=round(time.perf_counter() - started, 3),
            ended=ended or msgspec.UNSET,
        )
        shown = text if most >= len(text) else text[:most] + f"\n[cut: {len(text):,} in all]"
        return Called(record=record, text=shown, full_text=text[:MOST_WHOLE] if len(text) > MOST_RECORDED else "")

    def _masked(self, text: str) -> str:
        """A text as it is shown. A result is data, and stays as it is but for secrets of the allow list."""
        for secret in self._secrets:
            if secret in text:
                self._has_masked = True
                text = text.replace(secret, MASK)
        return text

    async def _make(self, call: Call, left_s: float) -> _Answer:
        server = self._allowed.servers.get(call.server)
        if server is None:
            raise CallRefused(f"server {call.server[:100]!r} is not known: call the tools that you were told of")
        tool = server.tools.get(call.tool)
        if tool is None:
            raise CallRefused(
                f"tool {call.tool[:100]!r} of {call.server} is not allowed: call the tools that you were told of"
            )
        arguments = _arguments(call.arguments)
        if self._has_masked and any(MASK in text for text in texts(arguments)):
            raise CallRefused(f"{MASK!r} stands for a secret that is not shown: change the text around it alone")
        self._hold(tool, arguments)
        try:
            before = await asyncio.to_thread(self._folder.look) if server.read_only else None
        except TooLarge as error:
            raise CallRefused(f"{error}: delete files first") from None
        answer = await self._ask(call, server, arguments, left_s)
        try:
            removed = await asyncio.to_thread(self._folder.clean)
            after = await asyncio.to_thread(self._folder.look)
        except TooLarge as error:
            return answer.failed(f"{error}: delete files, or the work cannot be handed in")
        except FolderError:
            await self.close()
            raise
        if before is not None and after != before:
            await asyncio.to_thread(self._folder.put_back, before)
            if server.sandbox:  # a test run leaves caches and files behind
                return answer
            return answer.failed(f"{call.server} may only read: what it changed is undone")
        return answer.failed(*removed[:50]) if removed else answer

    async def _ask(self, call: Call, server: ToolServer, arguments: dict[str, Any], left_s: float) -> _Answer:
        timeout_s = min(server.timeout_s, max(0.1, left_s))
        try:
            async with asyncio.timeout(timeout_s):
                client = await self._start(call.server)
                with genai.tool(call.tool) as span:
                    result = await client.call_tool(call.tool, arguments)
                    if result.is_error:
                        tracing.fail(span, "tool_error")
        except TimeoutError:
            await self._end(call.server)
            return _Answer(False, f"no result within {timeout_s:.3g} s; the server was ended")
        except ToolServerFailed as error:
            return _Answer(False, str(error))
        except Exception as error:  # a foreign server: an error of its protocol, its end, a result that cannot be read
            if not _is_answer(error):
                await self._end(call.server)
            return _Answer(False, f"the server failed: {type(error).__name__}: {str(error)[:500]}")
        ending = (result.meta or {}).get(ENDED, "")
        ended = " ".join(ending.split())[:MOST_ENDED] if isinstance(ending, str) else ""
        return _Answer(not result.is_error, _text(result), ended)

    async def _end(self, name: str) -> None:
        server = self._running.pop(name, None)
        if server is not None:
            await server.close()

    def _hold(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        """Raise Outside where an argument that is a path, or looks like one, leads out of the folder."""
        for name, value in arguments.items():
            if name in tool.text:
                continue
            for text in texts(value):
                if name in tool.paths:
                    if "://" in text or text.startswith("file:"):
                        raise CallRefused(
                            f"argument {name}: {text[:200]!r} is an address, expected a path in the folder"
                        )
                    self._folder.resolve(text)
                else:
                    self._look(name, text)

    def _look(self, name: str, text: str) -> None:
        """The same for an argument that nobody named a path: each part of it that could be one."""
        for part in {text, *_SEPARATORS.split(text)}:
            looks = "/" in part or part in (".", "..") or part.startswith("~")
            try:
                if looks or (part and len(part) < 256 and (self._folder.root / part).exists()):
                    self._folder.resolve(part)
            except (Outside, OSError, ValueError) as error:
                raise CallRefused(f"argument {name} looks like a path: {error}") from None


def _not_there(name: str, why: str, started: float) -> ToolCall:
    return ToolCall(
        server=name,
        tool=START,
        arguments="{}",
        ok=False,
        result=why[:MOST_RECORDED],
        seconds=round(time.perf_counter() - started, 3),
        ended=f"not there: {why}"[:MOST_ENDED],
    )


def _offered(server: str, tool: Any) -> Offered:
    schema = json.dumps(tool.input_schema)
    return Offered(
        server=server,
        tool=tool.name,
        description=inspect.cleandoc(tool.description or "")[:_DESCRIPTION],
        arguments=tool.input_schema if len(schema) <= _SCHEMA else schema[:_SCHEMA],
    )


def _arguments(text: str) -> dict[str, Any]:
    if len(text) > MOST_ARGUMENTS:
        raise CallRefused(f"arguments: {len(text):,} characters, the limit is {MOST_ARGUMENTS:,}")
    try:
        value = msgspec.json.decode(text or "{}")
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise CallRefused(f"arguments: expected a JSON object as text ({error})") from None
    if not isinstance(value, dict):
        raise CallRefused(f"arguments: expected a JSON object, this is {type(value).__name__}")
    return value


def _text(result: Any) -> str:
    """A result's texts; what else it holds is named. Its structured content where there is no text."""
    parts = []
    for block in result.content:
        text = getattr(block, "text", None)
        parts.append(text if isinstance(text, str) else f"[{getattr(block, 'type', 'something')}: not shown]")
    if not parts and result.structured_content is not None:
        parts = [json.dumps(result.structured_content, ensure_ascii=False)]
    return "\n".join(parts) or "(no output)"


def _is_answer(error: Exception) -> bool:
    """Whether the server answered, if only with an error: it is alive then."""
    from mcp.shared.exceptions import MCPError
    from mcp.types import CONNECTION_CLOSED

    return isinstance(error, MCPError) and error.code != CONNECTION_CLOSED


def _safe(text: str, server: ToolServer | None, folder: TaskFolder) -> str:
    """The text without this machine's paths, and without what the operator gave the server as variables."""
    text = text.replace(str(folder.root), ".").replace(str(folder.home.parent), "(elsewhere)")
    for value in server.env.values() if server is not None else ():
        value = filled(value, folder.root)
        if len(value) >= _SECRET:
            text = text.replace(value, MASK)
    return text


def _secrets(server: ToolServer) -> Iterator[str]:
    """Values of its variables that are nowhere to be shown: written out in the list, long enough, and no path."""
    for value in server.env.values():
        if len(value) >= _LEAST_SECRET and filled(value, Path()) == value and not value.startswith(("/", "./", "~")):
            yield value
