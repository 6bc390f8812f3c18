"""The model that is a person at a terminal. It shows a turn as plain text, and reads the reply field by field.

The form is made from the reply's own struct, so that every kind of turn of every protocol can be answered. What was
typed is checked by that struct, and asked for again with the fault in words; so is what the moderator did not take. The
clock is the turn's: cancelling ends the input.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec
from msgspec import inspect

from parley.agents.context import Other, Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.prompts.task_instructions import TaskInstructions, task_instructions
from parley.agents.protocols import kind_of
from parley.schemas.wire import Undecodable, decode, encode, figure

_TOLD_S = (300, 120, 60, 30, 10)
"""Seconds left at which the time is shown while nothing is typed."""
_EARLY_NS = 50_000_000
_CHOICES = {"answerer": "answerers", "speaker": "may"}
"""Field of a reply -> field of its brief that lists the allowed values: one line, not words of a speech."""
END = "."
"""A line with only this ends a text."""


def offered(brief: Any, options: Iterable[Any]) -> dict[str, str]:
    """Option -> the sentence that the brief has under its name, of a choice among sentences; empty: another choice. An
    option that stands for none of them is without one, and comes last. What the brief leaves out cannot be chosen."""
    names = [str(option) for option in options]
    sentences = {name: str(getattr(getattr(brief, name, None), "sentence", "")) for name in names}
    stated = {name: text for name, text in sentences.items() if text}
    others = [name for name in names if not hasattr(brief, name) and (name != "both" or len(stated) > 1)]
    return {**stated, **dict.fromkeys(others, "")} if stated else {}


class PersonsTerminal(Protocol):
    """The terminal at which the person sits."""

    def say(self, *lines: str) -> None:
        """Show lines, made safe: what stands behind a line break in one of them is indented."""

    def begin(self) -> None:
        """A turn begins: what was typed before does not belong to its reply."""

    async def line(self, prompt: str) -> str | None:
        """The next typed line; None at the end of input. Can be cancelled."""

    def leave(self) -> None:
        """There is no more input, and never will be."""


class Human:
    """Model `human`.

    It reserves and costs nothing, and is asked one turn at a time.
    """

    name = "human"
    family = "human"
    metered = False
    words = True
    """Its replies are its own words (agents/protocols/madp/expert_worker.py)."""
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    def __init__(self, terminal: PersonsTerminal) -> None:
        self._terminal = terminal
        self._shown_before: set[tuple[str, str, int | str]] = set()
        """(session, seat, post or document) that were shown before."""
        self._draft: tuple[tuple[str, str, str, int], dict[str, Any]] | None = None
        """What was typed last, and for which turn."""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Show the turn, and read its reply."""
        terminal = self._terminal
        terminal.begin()
        terminal.say(*turn_words(shown, lambda what: self._new(shown, what)))
        ticking = asyncio.create_task(self._tick(shown.deadline_ns))
        try:
            body = await self._filled(shown, emit)
        except asyncio.CancelledError:
            over = time.time_ns() >= shown.deadline_ns - _EARLY_NS
            terminal.say("", "The time for this turn is over." if over else "This turn is no longer needed.")
            raise
        finally:
            ticking.cancel()
            await asyncio.gather(ticking, return_exceptions=True)
        terminal.say("Sent. Waiting for the next turn.")
        return Completion(body=body)

    async def _tick(self, deadline_ns: int) -> None:
        for mark in _TOLD_S:
            remaining_s = (deadline_ns - time.time_ns()) / 1e9
            if remaining_s > mark:
                await asyncio.sleep(remaining_s - mark)
                self._terminal.say("", f"{clock(deadline_ns)} left")

    # -- showing
    def _new(self, shown: Shown, what: int | str) -> bool:
        key = (shown.session, shown.seat, what)
        if key in self._shown_before:
            return False
        self._shown_before.add(key)
        return True

    # -- reading
    async def _filled(self, shown: Shown, emit: Emit) -> Any:
        key = (shown.session, shown.seat, shown.kind, shown.round)
        before = self._draft[1] if self._draft is not None and self._draft[0] == key else {}
        words = getattr(shown.brief, "words", None)
        choices = {name: getattr(shown.brief, of, ()) for name, of in _CHOICES.items()}
        form = _Form(
            self._terminal,
            shown.deadline_ns,
            words if isinstance(words, int) else None,
            emit,
            choices,
            shown.brief,
            rules_of(shown).fields,
        )
        while True:
            values = await form.struct(shown.reply, before)
            self._draft = key, values
            try:
                return decode(encode(values), shown.reply)
            except Undecodable as fault:
                again = "Type it again; an empty line keeps what you had."
                self._terminal.say("", f"That cannot be sent: {fault.why}", again)
                before = values


def turn_words(shown: Shown, is_new: Callable[[int | str], bool]) -> Iterator[str]:
    """A turn as lines of plain text. `is_new`: whether a document, or a post, is shown in full."""
    head = f"{shown.seat}: {shown.kind}, round {shown.round}, session {shown.session}"
    yield from ("", f"=== {head} ===", f"{clock(shown.deadline_ns)} for this turn")
    yield from ("", "Question", f"  {shown.question}")
    if shown.background and is_new(shown.background):
        yield from (
            "",
            "What the session before found (no evidence: quote nothing of it)",
            *_indented(shown.background),
        )
    news = [d for d in shown.documents if is_new(d.id)]
    for document in news:
        yield from ("", f"Document {document.name}", *_indented(document.text))
    if len(news) < len(shown.documents):
        yield from ("", "You also hold, shown before: " + ", ".join(d.name for d in shown.documents if d not in news))
    fresh = [o for o in shown.others if is_new(o.post)]
    for other in (o for o in fresh if o.channel == "public"):
        yield from _post(other)
    aside = [o for o in fresh if o.channel != "public"]
    if aside:
        yield from ("", f"--- not in public: {', '.join(dict.fromkeys(o.channel for o in aside))} ---")
    for other in aside:
        yield from _post(other)
    if shown.own is not None:
        yield from ("", "Your last position", *_indented(readable(shown.own)))
    yield from ("", "Task", *_indented(rules_of(shown).text))
    if shown.error:
        yield from ("", f"Your last reply was not taken: {shown.error}")


def rules_of(shown: Shown) -> TaskInstructions:
    """The rules of the turn, in the words that a language model gets."""
    shows = kind_of(shown.protocol, shown.kind).prompt_brief
    return task_instructions(shown, readable(shown.brief if shows is None else shows(shown.brief)))


@dataclass(frozen=True)
class _Form:
    """Reads one reply."""

    _terminal: PersonsTerminal
    _deadline_ns: int
    _words: int | None
    _emit: Emit
    _choices: Mapping[str, tuple[str, ...]]
    _brief: Any
    _told: Mapping[str, str]
    """Field -> what it is for."""

    async def struct(self, wanted: Any, before: dict[str, Any], within: str = "") -> dict[str, Any]:
        """Values of the struct's fields; those left out have their defaults."""
        values: dict[str, Any] = {}
        info = inspect.type_info(wanted)
        assert isinstance(info, inspect.StructType), "a reply is a struct"
        for field in info.fields:
            if not within and (what := self._told.get(field.encode_name)):
                self._terminal.say("", f"{field.name}: {what}")
            value = await self._field(within + field.name, field.type, field.required, before.get(field.encode_name))
            if value is not None:
                values[field.encode_name] = value
        return values

    async def _field(self, name: str, kind: inspect.Type, required: bool, before: Any) -> Any:
        """What was typed for a field; None: nothing, and the field has a default."""
        kind = _bare(kind)
        optional = "" if required and before is None else ", empty keeps it" if before is not None else ", may be empty"
        if isinstance(kind, inspect.StrType) and name in self._choices:
            return await self._chosen(name, self._choices[name], before)
        if isinstance(kind, inspect.LiteralType) and (among := offered(self._brief, kind.values)):
            for option, sentence in among.items():
                self._terminal.say(f"  {option}: {sentence}" if sentence else f"  {option}")
            return await self._chosen(name, tuple(among), before)
        if isinstance(kind, inspect.StrType) and required:
            return await self._text(name, before)
        if isinstance(kind, inspect.StructType):
            if not required and not await self._yes(f"{name}: fill it in? y or empty"):
                return before
            return await self.struct(kind.cls, before or {}, f"{name}.")
        if isinstance(kind, inspect.VarTupleType | inspect.ListType):
            value = await self._several(name, _bare(kind.item_type), optional)
            return value or before or ([] if required else None)
        if isinstance(kind, inspect.DictType):
            pairs = await self._pairs(name, _bare(kind.value_type), optional)
            return pairs or before or ({} if required else None)
        while True:
            text = (await self._line(f"{name} ({_hint(kind)}{optional})")).strip()
            if not text and (before is not None or not required):
                return before
            try:
                return _value(kind, text)
            except ValueError as fault:
                self._terminal.say(f"{name}: got {text!r}, {fault}")

    async def _chosen(self, name: str, among: tuple[str, ...], before: Any) -> str:
        wanted = " or ".join(among) or "a seat"
        while True:
            text = (await self._line(f"{name} ({wanted}{'' if before is None else f', empty keeps {before}'})")).strip()
            if not text and before is not None:
                return str(before)
            if text in among or (text and not among):
                return text
            self._terminal.say(f"{name}: got {text!r}, expected {wanted}")

    async def _line(self, prompt: str) -> str:
        """One line. After the end of all input it never returns: the asker cancels it."""
        typed = await self._terminal.line(f"[{clock(self._deadline_ns)}] {prompt}: ")
        if typed is None:
            self._terminal.leave()
            await asyncio.get_running_loop().create_future()
        return typed or ""

    async def _yes(self, prompt: str) -> bool:
        return (await self._line(prompt)).strip().lower() in ("y", "yes", "true")

    async def _text(self, name: str, before: Any) -> str:
        keeps = "; an empty first line keeps what you had" if before is not None else ""
        self._terminal.say(f"{name}: as many lines as you like, a single {END} ends it{keeps}")
        lines: list[str] = []
        while True:
            typed = await self._terminal.line(f"[{clock(self._deadline_ns)}, {self._counted(lines)}] ")
            if typed is None and not lines:
                return await self._line(name)
            if not typed and before is not None and not lines:
                return str(before)
            if typed is None or typed.strip() == END:
                return "\n".join(lines).strip()
            lines.append(typed)
            self._emit(typed + "\n")

    def _counted(self, lines: list[str]) -> str:
        typed = sum(len(line.split()) for line in lines)
        return f"{typed} words" if self._words is None else f"{typed} of {self._words} words"

    async def _several(self, name: str, item: inspect.Type, optional: str) -> list[Any]:
        values: list[Any] = []
        if isinstance(item, inspect.StructType):
            while await self._yes(f"{name}: {'another' if values else 'one'}? y or empty{optional}"):
                values.append(await self.struct(item.cls, {}, f"{name}."))
            return values
        self._terminal.say(f"{name} ({_hint(item)}): one a line, an empty line ends them{optional}")
        while text := (await self._line(str(len(values) + 1))).strip():
            try:
                values.append(_value(item, text))
            except ValueError as fault:
                self._terminal.say(f"{name}: got {text!r}, {fault}")
        return values

    async def _pairs(self, name: str, value_type: inspect.Type, optional: str) -> dict[str, Any]:
        self._terminal.say(f"{name}: one `name = value` a line, an empty line ends them{optional}")
        pairs: dict[str, Any] = {}
        while text := (await self._line(str(len(pairs) + 1))).strip():
            key, equals, value = text.rpartition("=")
            if not equals:
                self._terminal.say(f"{name}: got {text!r}, expected name = value")
                continue
            plain = isinstance(value_type, inspect.StrType)
            pairs[key.strip()] = value.strip() if plain else _json(value.strip())
        return pairs


def _bare(kind: inspect.Type) -> inspect.Type:
    """The type without `None` and annotations."""
    if isinstance(kind, inspect.Metadata):
        return _bare(kind.type)
    if isinstance(kind, inspect.UnionType):
        others = [t for t in kind.types if not isinstance(t, inspect.NoneType)]
        return _bare(others[0]) if len(others) == 1 else kind
    return kind


def _hint(kind: inspect.Type) -> str:
    match kind:
        case inspect.LiteralType():
            return " | ".join(map(str, kind.values))
        case inspect.EnumType():
            return " | ".join(str(member.value) for member in kind.cls)
        case inspect.BoolType():
            return "y | n"
        case inspect.IntType() | inspect.FloatType():
            return "a number"
        case inspect.StrType():
            return "a line"
    return "JSON"


def _value(kind: inspect.Type, text: str) -> Any:
    """The value of a line. Raises ValueError with what is expected."""
    if isinstance(kind, inspect.StrType):
        return text
    if isinstance(kind, inspect.BoolType):
        known = {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}
        if text.lower() not in known:
            raise ValueError("expected y or n")
        return known[text.lower()]
    if isinstance(kind, inspect.LiteralType | inspect.EnumType):
        options = kind.values if isinstance(kind, inspect.LiteralType) else [m.value for m in kind.cls]
        for option in options:
            if str(option) == text:
                return option
        raise ValueError(f"allowed are {', '.join(map(str, options))}")
    value = _json(text)
    if isinstance(kind, inspect.IntType | inspect.FloatType) and (isinstance(value, bool | str) or value is None):
        raise ValueError("expected a number")
    return value


def _json(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def clock(deadline_ns: int) -> str:
    """Time left as m:ss, or h:mm:ss from an hour on."""
    seconds = max(0, (deadline_ns - time.time_ns()) // 1_000_000_000)
    hours, rest = divmod(seconds, 3_600)
    return f"{hours}:{rest // 60:02}:{rest % 60:02}" if hours else f"{rest // 60}:{rest % 60:02}"


def readable(value: Any, depth: int = 0) -> str:
    """A message as lines `name: value`, what is empty left out."""
    plain = msgspec.to_builtins(value)
    if isinstance(plain, dict):
        pairs = ((str(k).replace("_", " "), v) for k, v in plain.items() if v not in (None, "", (), [], {}))
        parts = [_named(name, v, depth) for name, v in pairs]
        return "\n".join(parts)
    if isinstance(plain, list | tuple):
        return "\n".join(f"- {readable(item, depth + 1).lstrip()}" for item in plain)
    if isinstance(plain, bool):
        return "yes" if plain else "no"
    return figure(plain) if isinstance(plain, float) else str(plain)


def _named(name: str, value: Any, depth: int) -> str:
    text = readable(value, depth + 1)
    below = isinstance(value, dict | list | tuple) or "\n" in text
    return "\n".join([f"{name}:", *_indented(text)]) if below else f"{name}: {text}"


def _indented(text: str) -> list[str]:
    return ["  " + row for row in text.split("\n")]


def _post(other: Other) -> Iterator[str]:
    yield from ("", other.label if other.post < 0 else f"post {other.post}, {other.kind}, round {other.round}")
    yield from _indented(readable(other.body))
