"""`parley acp`: Parley as an agent of editors, over the Agent Client Protocol, version 1 (agentclientprotocol.com).

A prompt is a session: its posts are thoughts, its rounds the plan, an item of the inbox a permission request, the
verdict the message. The next prompt goes on from it. An editor that cancels the prompt, or goes away, cancels the
session. Of the SDK only its connection is used, as for hands.
"""

import asyncio
import base64
import binascii
import contextlib
import signal
import uuid
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from acp.connection import Connection
from acp.exceptions import RequestError
from acp.stdio import stdio_streams

from parley.bus.errors import BusError
from parley.client.errors import ParleyError
from parley.client.evidence import SentFile
from parley.client.opened_session import leave
from parley.client.show.open_items import OpenItem, answer_command
from parley.client.text import line
from parley.client.view.fold import Fold
from parley.observability import caller
from parley.observability.setup import setup_tracing
from parley.planned.access import run
from parley.planned.plan import Plan
from parley.schemas.wire import SchemaError
from parley.serving.offered_models import offers_of
from parley.serving.stdio import WhenAsked
from parley.web import program_sessions, verdicts
from parley.web.errors import error_text
from parley.web.offered_models import Offers

_VERSION = 1
_LIMIT = 16_000_000
"""Bytes of one message."""
_TRACEPARENT = 55


def serve(plan: Plan, panels: Path | None = None) -> int:
    """Serve until standard input ends; the exit status. Nothing but the protocol goes to standard output. Raises
    BadInput."""
    plan, offers = offers_of(plan, panels)
    stop_tracing = setup_tracing("parley-acp")
    try:
        return run(_serve(plan, offers))
    finally:
        stop_tracing()


async def _serve(plan: Plan, offers: Offers) -> int:
    async with WhenAsked(plan) as stack:
        editor = Editor(stack, offers)
        reader, writer = await stdio_streams(limit=_LIMIT)
        editor.connection = Connection(editor.handle, writer, reader, listening=False)
        serving = asyncio.ensure_future(editor.connection.main_loop())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, serving.cancel)
        try:
            await asyncio.wait((serving,))
        finally:
            await editor.leave()
            await editor.connection.close()
    return 0


class _Chat:
    """One session of the editor."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.last = ""
        """Parley's session that the next prompt goes on from."""
        self.work: asyncio.Task[str] | None = None


class Editor:
    """Answers an editor's requests."""

    connection: Connection

    def __init__(self, stack: WhenAsked, offers: Offers) -> None:
        self._stack, self._offers = stack, offers
        self._chats: dict[str, _Chat] = {}

    async def handle(self, method: str, params: Any, _is_notification: bool) -> Any:
        """Answer one request. Raises RequestError."""
        params = params if isinstance(params, dict) else {}
        if method == "initialize":
            info = {"name": "parley", "title": "Parley", "version": metadata.version("parley")}
            takes = {"promptCapabilities": {"embeddedContext": True}}
            return {"protocolVersion": _VERSION, "agentInfo": info, "agentCapabilities": takes, "authMethods": []}
        if method == "session/new":
            sid = uuid.uuid4().hex
            self._chats[sid] = _Chat(str(params.get("cwd") or "/nowhere"))
            commands = [{"name": name, "description": f"Ask {name}"} for name in self._offers.names]
            offered = {"sessionUpdate": "available_commands_update", "availableCommands": commands}
            self._telling = asyncio.ensure_future(self._update(sid, offered))  # the editor knows the session first
            return {"sessionId": sid}
        chat = self._chats.get(str(params.get("sessionId")))
        if chat is None and method.startswith("session/"):
            raise RequestError.invalid_params({"sessionId": params.get("sessionId")})
        if method == "session/cancel" and chat is not None:
            if chat.work is not None:
                chat.work.cancel()
            return None
        if method == "session/prompt" and chat is not None:
            return await self._prompt(params["sessionId"], chat, params)
        raise RequestError.method_not_found(method)

    async def leave(self) -> None:
        """The editor has gone."""
        for task in (working := [chat.work for chat in self._chats.values() if chat.work is not None]):
            task.cancel()
        await asyncio.gather(*working, return_exceptions=True)

    async def _prompt(self, sid: str, chat: _Chat, params: Mapping[str, Any]) -> dict[str, str]:
        if chat.work is not None:
            raise RequestError.invalid_params({"sessionId": "a prompt of this session is being answered"})
        meta = params.get("_meta")
        parent = str(meta.get("traceparent", ""))[:_TRACEPARENT] if isinstance(meta, dict) else ""
        with caller.within(parent):
            chat.work = asyncio.ensure_future(self._answered(sid, chat, params.get("prompt") or ()))
        try:
            return {"stopReason": await chat.work}
        except asyncio.CancelledError:
            here = asyncio.current_task()
            if here is None or here.cancelling():
                raise
            return {"stopReason": "cancelled"}
        except (ParleyError, BusError, SchemaError) as error:
            await self._tell(sid, "agent_message_chunk", error_text(error))
            return {"stopReason": "refusal"}
        finally:
            chat.work = None

    async def _answered(self, editors: str, chat: _Chat, blocks: Sequence[Mapping[str, Any]]) -> str:
        """Why the prompt's session stopped. Whatever ends the waiting for it cancels it."""
        text = "".join(str(b.get("text", "")) for b in blocks if b.get("type") == "text").strip()
        named, _, rest = text.partition(" ")
        given = {"continues": chat.last}
        if named.startswith("/") and named[1:] in self._offers.names:
            given["protocol"], text = named[1:], rest
        files = []
        for block in blocks:
            file = await asyncio.to_thread(_file, block, chat.folder)
            if file is not None:
                files.append(file)
            elif block.get("type") != "text":
                what = f"{block.get('type')} {block.get('uri') or block.get('name') or ''}".strip()
                await self._tell(editors, "agent_thought_chunk", f"Not read: {line(what, 300)}\n\n")
        client = (await self._stack.parley()).client
        sid = await program_sessions.open_text_session(client, self._offers, text, given, files)
        rounds = 0

        async def say(text: str, fold: Fold) -> None:
            nonlocal rounds
            if text:
                await self._tell(editors, "agent_thought_chunk", f"{text}\n\n")
            if fold.posts[-1].round > rounds or fold.result is not None:
                rounds = max(rounds, fold.posts[-1].round)
                await self._plan(editors, fold, rounds)

        try:
            result = await program_sessions.follow_to_end(client, sid, say, lambda item: self._ask(editors, sid, item))
        except BaseException:
            await leave(client, sid, "the editor cancelled the prompt, or went away")
            raise
        chat.last = sid
        await self._tell(editors, "agent_message_chunk", verdicts.verdict(result))
        return "cancelled" if result.status == "cancelled" else "end_turn"

    async def _plan(self, editors: str, fold: Fold, rounds: int) -> None:
        done = fold.result is not None
        entries = [
            (fold.show.round_title(n), "completed" if done or n < rounds else "in_progress")
            for n in range(1, rounds + 1)
        ]
        entries.append(("verdict", "completed" if done else "pending"))
        plan = [{"content": name, "priority": "medium", "status": state} for name, state in entries]
        await self._update(editors, {"sessionUpdate": "plan", "entries": plan})

    async def _ask(self, editors: str, sid: str, item: OpenItem) -> str:
        """An item as a permission request. One that is free text is told with the command that answers it."""
        words = program_sessions.item_words(item)
        if not item.choices:
            await self._tell(editors, "agent_thought_chunk", f"{words}\n{answer_command(sid, item)}\n\n")
            return ""
        content = [{"type": "content", "content": {"type": "text", "text": words}}]
        call = {"toolCallId": f"{sid}-{item.item}", "title": item.question[:300], "kind": "other", "status": "pending"}
        options = [{"optionId": c, "name": c, "kind": "allow_once"} for c in item.choices]
        request = {"sessionId": editors, "toolCall": {**call, "content": content}, "options": options}
        with contextlib.suppress(RequestError, ConnectionError):
            answer = await self.connection.send_request("session/request_permission", request)
            outcome = answer.get("outcome") if isinstance(answer, dict) else None
            return str(outcome.get("optionId") or "") if isinstance(outcome, dict) else ""
        return ""

    async def _tell(self, editors: str, kind: str, text: str) -> None:
        await self._update(editors, {"sessionUpdate": kind, "content": {"type": "text", "text": text}})

    async def _update(self, editors: str, update: Mapping[str, Any]) -> None:
        await self.connection.send_notification("session/update", {"sessionId": editors, "update": update})


def _file(block: Mapping[str, Any], folder: Path) -> SentFile | None:
    resource = block.get("resource") if block.get("type") == "resource" else block
    if not isinstance(resource, dict) or block.get("type") not in ("resource", "resource_link"):
        return None
    path = Path(unquote(urlsplit(str(resource.get("uri"))).path))
    if block["type"] == "resource":
        with contextlib.suppress(binascii.Error, ValueError):
            data = resource["text"].encode() if "text" in resource else base64.b64decode(resource.get("blob") or "")
            return SentFile(path.name or "file", data)
    with contextlib.suppress(OSError):
        if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            return SentFile(path.name, path.read_bytes())
    return None
