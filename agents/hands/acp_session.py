"""The client's side of one turn over the Agent Client Protocol, version 1 (agentclientprotocol.com): JSON-RPC in lines.

Of the SDK only its connection is used. Its permission requests are a courtesy: an agent may ask for nothing, and the
sandbox alone holds it. They are answered by the operator's list, and what that does not name is refused. What an agent
tells of its calls is recorded as told; of tokens and of the end of its work it tells nothing that counts.
"""

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Iterator
from fnmatch import fnmatchcase
from typing import Any

import msgspec
from acp.connection import Connection
from acp.exceptions import RequestError

from parley.agents.hands.catalogue import Hand
from parley.agents.model.base import Emit, tell_called
from parley.agents.tools.sandbox import FOLDER
from parley.schemas.tools import ToolCall, call_words

_VERSION = 1
_START_S = 90.0
"""Until it has answered to be initialized, has a session, and has its mode."""
_GRACE_S = 5.0
"""From `session/cancel` until the end."""
_FINISHED = ("completed", "failed")
_SHELL = re.compile(r"[;&|<>`$\n(){}\\]")
"""What may join commands: a pattern of one command does not allow it."""
_MOST_CALLS = 900
_MOST_SHOWN = 2_000
_MOST_TEXT = 200_000
_MOST_LIVE = 8_000
"""Characters of one piece that is shown as it comes."""
_REFUSED = "refused: the operator's list does not allow it"


class Unusable(Exception):
    """What the agent says is not the protocol, or it has gone."""


class AcpSession:
    """One turn.

    Parameters
    ----------
    spent
        Is set when the turn's tokens are.
    seconds
        So long the turn may take; it is cancelled a little before.
    """

    def __init__(self, hand: Hand, prompt: str, emit: Emit, spent: asyncio.Event, seconds: float, server: str) -> None:
        self._hand = hand
        self._prompt = prompt
        self._emit = emit
        self._spent = spent
        self._until = time.monotonic() + seconds - min(_GRACE_S + 1.0, 0.3 * seconds)
        self._server = server
        self._calls: dict[str, dict[str, Any]] = {}
        """By their ids: what was told of each so far, when it began, and what became of it."""
        self._text = ""
        self._last = ""
        self._cancelled = False
        self.recorded: list[ToolCall] = []
        self.agent = ""
        """What it says that it is."""
        self.ended = ""
        """What ended it; empty: it says that it is done."""
        self.failed = ""
        """Why it did not come to an end of its own."""

    @property
    def words(self) -> str:
        """What it said after its last call, or before."""
        return (self._text.strip() or self._last.strip())[-_MOST_TEXT:]

    async def look(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
        """Ask the agent what it is."""
        await self._spoken(Connection(self._handle, writer, reader), self._introduced)

    async def talk(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
        """Have the agent do the turn."""
        await self._spoken(Connection(self._handle, writer, reader), self._turn)
        for call in [c for c in self._calls.values() if "ended" not in c]:
            self._finish(call, "failed", "it was not finished")

    async def _spoken(self, connection: Connection, what: Callable[[Connection], Awaitable[None]]) -> None:
        try:
            await what(connection)
        except (Unusable, RequestError, ConnectionError, TimeoutError, ValueError, OSError) as error:
            self.failed = f"{error}"[:400] or type(error).__name__
        finally:
            await connection.close()

    async def _introduced(self, connection: Connection) -> None:
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        who = {"name": "parley", "title": "Parley", "version": "1"}
        asked = {"protocolVersion": _VERSION, "clientCapabilities": capabilities, "clientInfo": who}
        async with asyncio.timeout(_START_S):
            answer = _mapping(await connection.send_request("initialize", asked))
        if answer.get("protocolVersion") != _VERSION:
            raise Unusable(f"it speaks version {answer.get('protocolVersion')!r} of the protocol, wanted is {_VERSION}")
        info = _mapping(answer.get("agentInfo") or {})
        self.agent = " ".join(str(info[n]) for n in ("name", "version") if info.get(n))

    async def _turn(self, connection: Connection) -> None:
        await self._introduced(connection)
        async with asyncio.timeout(_START_S):
            opened = _mapping(await connection.send_request("session/new", {"cwd": FOLDER, "mcpServers": []}))
            session = opened.get("sessionId")
            if self._hand.mode:
                mode = {"sessionId": session, "modeId": self._hand.mode}
                await connection.send_request("session/set_mode", mode)
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": self._prompt}]}
        answering = asyncio.create_task(connection.send_request("session/prompt", prompt))
        spent = asyncio.create_task(self._spent.wait())
        try:
            left = max(0.1, self._until - time.monotonic())
            await asyncio.wait({answering, spent}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                self._cancelled = True
                self.ended = "the turn's tokens are spent" if self._spent.is_set() else "the turn's time is over"
                await connection.send_notification("session/cancel", {"sessionId": session})
                await asyncio.wait({answering}, timeout=_GRACE_S)
            if answering.done():
                reason = _mapping(answering.result()).get("stopReason")
                self.ended = self.ended or ("" if reason == "end_turn" else f"it stopped: {str(reason)[:40]}")
        finally:
            for task in (answering, spent):
                task.cancel()
            await asyncio.gather(answering, spent, return_exceptions=True)

    async def _handle(self, method: str, params: Any, _is_notification: bool) -> Any:
        params = _mapping(params or {})
        if method == "session/update":
            self._update(_mapping(params.get("update") or {}))
            return None
        if method == "session/request_permission":
            return self._permission(params)
        raise RequestError.method_not_found(method)

    def _update(self, update: dict[str, Any]) -> None:
        kind = update.get("sessionUpdate")
        if kind == "agent_message_chunk":
            text = str(_mapping(update.get("content") or {}).get("text") or "")
            self._text = (self._text + text)[-_MOST_TEXT:]
            self._emit(text[:_MOST_LIVE])
        elif kind in ("tool_call", "tool_call_update"):
            call = self._told(update)
            if call is not None and call.get("status") in _FINISHED and "ended" not in call:
                self._finish(call, call["status"])

    def _told(self, update: dict[str, Any]) -> dict[str, Any] | None:
        """A call with what is told of it now; None: there are too many."""
        id_ = str(update.get("toolCallId"))
        if id_ not in self._calls:
            if len(self._calls) >= _MOST_CALLS:
                return None
            self._last, self._text = self._text.strip() or self._last, ""
            self._calls[id_] = {"began": time.monotonic()}
        names = ("title", "kind", "status", "rawInput", "rawOutput", "content", "locations")
        self._calls[id_] |= {n: update[n] for n in names if update.get(n) is not None}
        return self._calls[id_]

    def _finish(self, call: dict[str, Any], status: str, why: str = "") -> None:
        """Record a call."""
        call["ended"] = status
        given = call.get("rawInput")
        arguments = given if isinstance(given, dict) and given else {"title": call.get("title", ""), **_places(call)}
        said = "\n".join(x for x in (_REFUSED if call.get("refused") else why, *_output(call)) if x)
        record = ToolCall(
            server=self._server,
            tool=str(call.get("kind") or "other")[:60],
            arguments=msgspec.json.encode(arguments).decode()[:_MOST_SHOWN],
            ok=status == "completed",
            result=said[:_MOST_SHOWN],
            seconds=round(time.monotonic() - call["began"], 3),
        )
        self.recorded.append(record)
        tell_called(self._emit, call_words(record))

    def _permission(self, params: dict[str, Any]) -> dict[str, Any]:
        """The answer to a request: allowed once, or refused once; nothing else is chosen."""
        call = self._told(_mapping(params.get("toolCall") or {}))
        options = [o for o in _list(params.get("options")) if isinstance(o, dict)]
        yes = call is not None and not self._cancelled and self._allowed(call)
        if call is not None and not yes:
            call["refused"] = True
        wanted = "allow_once" if yes else "reject_once"
        chosen = next((o.get("optionId") for o in options if o.get("kind") == wanted), None)
        if chosen is None or self._cancelled:
            return {"outcome": {"outcome": "cancelled"}}
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    def _allowed(self, call: dict[str, Any]) -> bool:
        """Whether a rule names its kind, and of a command the whole of it."""
        given = call.get("rawInput")
        command = _mapping(given).get("command") if isinstance(given, dict) else None
        command = command if command is not None else call.get("title", "")
        text = command if isinstance(command, str) else " ".join(map(str, _list(command)))
        for rule in self._hand.allow:
            if rule.kind == call.get("kind"):
                plain = rule.command == "*" or (fnmatchcase(text, rule.command) and not _SHELL.search(text))
                if rule.kind != "execute" or plain:
                    return True
        return False


def _mapping(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Unusable("it does not say what the protocol has there")
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _places(call: dict[str, Any]) -> dict[str, Any]:
    paths = [str(x.get("path")) for x in _list(call.get("locations")) if isinstance(x, dict)]
    return {"path": paths[0]} if paths else {}


def _output(call: dict[str, Any]) -> Iterator[str]:
    """What a call gave, in words."""
    for part in _list(call.get("content")):
        if isinstance(part, dict) and part.get("type") == "content" and isinstance(part.get("content"), dict):
            yield str(part["content"].get("text") or "")
        elif isinstance(part, dict) and part.get("type") == "diff":
            yield f"changed {part.get('path')}"
    raw = call.get("rawOutput")
    if raw and not call.get("content"):
        yield raw if isinstance(raw, str) else msgspec.json.encode(raw).decode()
