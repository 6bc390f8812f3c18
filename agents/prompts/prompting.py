"""Prompts: the templates of a kind of turn (agents/prompts/templates.py), filled with what the turn shows.

`{{name}}` is replaced, once and in one pass, so that what is put in is never looked at again. There is no logic in a
template: what is empty is left out, and that is all. That is why a renderer of ten lines is enough, and why no template
engine stands between a text from outside and the prompt.

What anybody said (the question, documents, other agents, the turn's brief) stands between two lines that carry a
boundary, the moderator's for this seat and session. Text that contains the boundary, or a line that looks like one, is
escaped, also what the seat itself said, since it was shown the boundary. Who the seat is and what is asked of it stand
outside, escaped in the same way.

What lasts comes first, so that a prompt of a seat begins as its last one did (`Prompt.lasting`). Where not everything
fits, whole rounds give way, the oldest first: to the seat's own summary of them, or to the beginnings of what was said.
So the beginning of the prompts changes once a round, and not from turn to turn.

A turn with tools has several prompts. The first two messages are the same in all of them, and its steps follow as
messages of their own (agents/prompts/dialogue.py).
"""

import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import msgspec

from parley.agents.context import Other, Shown, Tools
from parley.agents.model.base import ModelMisconfigured
from parley.agents.model.injection import suspicious
from parley.agents.prompts import dialogue
from parley.agents.prompts.templates import (
    Template,
    calling,
    fill,
    render,
    rules,
    same_answer,
    template,
    without_fields,
)
from parley.agents.protocols import kind_of
from parley.agents.text.inside import texts
from parley.agents.text.tokens import estimate, first_tokens
from parley.agents.tools.steps import function_names
from parley.agents.turn_kinds.settled import settled

_BOUNDARY = re.compile(r"[0-9a-f]{16}")
_LINE = re.compile(r"\[\[(?=\s*(?:BEGIN|END)\b)", re.I)
_UNSAFE = re.compile(r"[^\w .,/()+-]+")
_KEPT = 4
"""Others' words keep the cap divided by this when documents must be cut too: who argues must know against whom."""
_SPARE = 20
"""Tokens that a text which is cut leaves free, for the note on that."""
_BEGINNING = 150
"""Tokens of each text of an earlier round, if they do not fit as a whole."""

_BEFORE = 8
"""What was found before gets the cap divided by this."""
_NO_EVIDENCE = "it is no evidence, so quote nothing of it."
_FIRST = 0.75
"""Share of the cap for the first messages of a turn with tools; the rest is for its steps."""

Messages = dialogue.Messages
Texts = list[str | None]
"""Others' words, each text as far as it is shown; None: it is left out."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """The messages to be sent."""

    messages: Messages
    input_tokens: int
    """Estimated tokens."""
    flags: tuple[str, ...]
    """`injection`: something in it talks to the model as to a machine. `cut`: not all of it fitted. Of that,
    `summed_up`: the seat's own summaries stand for earlier rounds; `cut_documents`: of a document too."""
    lasting: int = 0
    """Characters, of the messages one after another, before the state and the task: with these the seat's next prompt
    begins too, unless texts were cut."""


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """What was wrong with the reply before."""

    reply: str
    error: str


def fresh_boundary() -> str:
    """A boundary that nobody can know beforehand: 64 random bits in hexadecimal."""
    return secrets.token_hex(8)


def build(
    shown: Shown,
    schema: dict[str, Any] | None = None,
    repair: Repair | None = None,
    boundary: Callable[[], str] = fresh_boundary,
    room: int | None = None,
    *,
    native: bool = False,
    late: dict[str, Any] | None = None,
) -> Prompt:
    """The prompt of a turn, cut to `shown.caps.input_tokens`: earlier rounds first, then notes, then what others said,
    down to a quarter of it, then the seat's documents; never the task, and never the seat's own last position. Of a
    turn with tools, old steps are shortened.

    Parameters
    ----------
    schema
        Put into the prompt where the server is not given it.
    repair
        The reply that was not accepted, and why.
    boundary
        Makes one where the turn brings none.
    room
        Tokens that the model's window holds, where that is less.
    native
        Tools are called in the endpoint's own field, so the prompt does not describe them.
    late
        Of a turn with tools: the schema of this step's reply, where it is not that of the others and the server is not
        given it.

    Raises
    ------
    ModelRefused
        No prompt is written for this kind of turn.
    ModelMisconfigured
        What cannot be cut is more than the cap.
    """
    steps = shown.steps
    if steps is None:
        return _first(shown, _asked_for(schema, repair), boundary, room, False)
    tail = "" if repair is None else _repaired(repair)
    cap = shown.caps.input_tokens if room is None else min(shown.caps.input_tokens, room)
    if not _BOUNDARY.fullmatch(shown.boundary):
        shown = msgspec.structs.replace(shown, boundary=boundary())
    asked_for = _asked_for(schema, None, "To end the turn, reply" if native else "Reply")
    try:
        first = _first(shown, asked_for, boundary, int(_FIRST * cap), native)
    except ModelMisconfigured:
        first = _first(shown, asked_for, boundary, room, native)
    late_text = "" if late is None else _compact(late)
    fences = _Fences(shown.boundary)
    way = dialogue.Way(native, fences.fence, fences.escape)
    more, cut = dialogue.grown(steps, way, cap - first.input_tokens, tail, late_text)
    if tail and not more:
        first.messages[-1]["content"] += f"\n\n{tail}"
    messages = [*first.messages, *more]
    size = dialogue.size(messages)
    if size > cap:
        _too_much(size, shown.caps.input_tokens, room)
    flags = dict.fromkeys((*first.flags, *(("cut",) if cut else ())))
    if suspicious(r.text for did in steps.did for r in did.returned):
        flags = {"injection": None} | flags
    return Prompt(messages=messages, input_tokens=size, flags=tuple(flags), lasting=first.lasting)


def _first(shown: Shown, asked_for: str, boundary: Callable[[], str], room: int | None, native: bool) -> Prompt:
    fence = shown.boundary if _BOUNDARY.fullmatch(shown.boundary) else boundary()
    others: Texts = [_post(shown, o.body) for o in shown.others]
    pieces = _Pieces(shown, fence, template(shown.protocol, shown.kind), asked_for, others, native)
    cap = shown.caps.input_tokens if room is None else min(shown.caps.input_tokens, room)
    documents = [d.text for d in shown.documents]
    messages = pieces.messages(documents, others)
    size = dialogue.size(messages)
    flags: tuple[str, ...] = ()
    if size > cap:
        flags = ("cut",)
        for less in _with_less(shown, others):
            messages = pieces.messages(documents, less, True)
            size = dialogue.size(messages)
            if size <= cap:
                break
        else:
            bare = cap - dialogue.size(pieces.messages(documents, [t and "" for t in less], True))
            least = min(sum(estimate(t) + _SPARE for t in less if t), cap // _KEPT)
            others = _cut(less, max(bare, least) if documents else bare)
            if documents and bare < least:
                bare = cap - dialogue.size(pieces.messages([""] * len(documents), others, True))
                documents = [text or "" for text in _cut(documents, bare)]
                flags = ("cut", "cut_documents")
            messages = pieces.messages(documents, others, True)
            size = dialogue.size(messages)
        if pieces.summed_up:
            flags = (*flags, "summed_up")
        if size > cap:
            _too_much(size, shown.caps.input_tokens, room)
    if suspicious(_untrusted_texts(shown, documents)):
        flags = ("injection", *flags)
    return Prompt(messages=messages, input_tokens=size, flags=flags, lasting=pieces.lasting)


def _too_much(size: int, most: int, room: int | None) -> NoReturn:
    holds = f"its cap on input is {most:,}" if room is None or room > most else f"the model's window holds {room:,}"
    raise ModelMisconfigured(f"this turn's prompt has some {size:,} tokens even when cut, {holds}")


def _with_less(shown: Shown, others: Texts) -> Iterator[Texts]:
    """What others said with less and less of it: of each round but the last, the oldest first, the seat's own summary
    alone, or where it wrote none the beginning of each text; at last without the notes of what is no summary."""
    kind, texts = kind_of(shown.protocol, shown.kind), list(others)
    posts = [(i, o) for i, o in enumerate(shown.others) if o.post >= 0 and o.kind != kind.sums_up]
    summed_up = {o.round for o in shown.others if kind.sums_up and o.kind == kind.sums_up}
    for round_ in sorted({o.round for o in shown.others if o.post >= 0})[:-1]:
        for i, other in posts:
            if other.round == round_:
                texts[i] = None if round_ in summed_up else first_tokens(texts[i] or "", _BEGINNING)
        yield list(texts)
    for i, other in posts:
        if kind.aside and other.channel != "public":
            texts[i] = None
    yield texts


def _untrusted_texts(shown: Shown, documents: list[str]) -> Iterator[str]:
    """All texts in a prompt that others wrote; of documents as much as is shown."""
    yield shown.background
    yield from (d.name for d in shown.documents)
    yield from documents
    for other in shown.others:
        yield from texts(other.body)
    yield from texts(shown.brief)
    yield from texts(_offered(shown))


def _offered(shown: Shown) -> tuple[Any, ...]:
    """The tools of the turn, also in its last step."""
    tools: Tools | None = shown.tools if shown.steps is None else shown.steps.tools
    return () if tools is None else tools.offered


class _Fences:
    """Puts texts from outside between two lines with a boundary."""

    def __init__(self, boundary: str) -> None:
        self.boundary = boundary

    def fence(self, what: str, name: str, text: str, of: int = 0) -> str:
        """A text between two lines with the boundary."""
        label = " ".join(x for x in (what, _UNSAFE.sub("_", self.escape(name))[:200]) if x)
        if len(text) < of:
            label += f" (cut: the first {len(text):,} of {of:,} characters)"
        return f"[[BEGIN {self.boundary} {label}]]\n{self.escape(text)}\n[[END {self.boundary}]]"

    def escape(self, text: str) -> str:
        """A text without the boundary, and without lines that look like it."""
        text = _LINE.sub("[ [", text) if "[[" in text else text
        if self.boundary not in text.lower():
            return text
        return re.sub(re.escape(self.boundary), "(boundary removed)", text, flags=re.I)


class _Pieces:
    """A turn's texts in their fences."""

    def __init__(
        self, shown: Shown, boundary: str, parts: Template, asked_for: str, others: Texts, native: bool
    ) -> None:
        self._shown = shown
        self._native = native
        self._kind = kind_of(shown.protocol, shown.kind)
        self._boundary = boundary
        fences = _Fences(boundary)
        self._fence, self._escape = fences.fence, fences.escape
        task = without_fields(parts.task, settled(self._kind, shown))
        self._parts = parts = msgspec.structs.replace(parts, task=task)
        self._one_place = "{{now}}" not in parts.task or "{{others}}" not in parts.context + parts.task
        self._asked_for = self._escape(asked_for)
        self._lengths = [len(text or "") for text in others]
        self.lasting = 0
        self.summed_up: list[int] = []
        """Rounds that are left out because the seat's summary stands for them, in the messages that were made last."""

    def messages(self, documents: list[str], others: Texts, cut: bool = False) -> Messages:
        """The two messages, with documents and others' words cut by the caller. None: the text is left out."""
        shown, fence, parts = self._shown, self._fence, self._parts
        every = zip(shown.others, others, self._lengths, strict=True)
        rows = [(other, text, of) for other, text, of in every if text is not None]
        lasting = [row for row in rows if not self._passes(row[0])]
        if not self._kind.shuffled:
            lasting.sort(key=lambda row: max(row[0].post, -1))
        values = {
            "rules": rules().replace("{{boundary}}", self._boundary),
            "same_answer": same_answer(),
            "role": shown.role,
            "round": str(shown.round),
            "question": "\n\n".join((fence("question", "", shown.question), *self._background())),
            "brief": self._brief(),
            "documents": "\n\n".join(
                fence("document", document.name, text, len(document.text))
                for document, text in zip(shown.documents, documents, strict=True)
            ),
            "others": "\n\n".join(self._fenced(*row) for row in lasting),
            "now": "\n\n".join(self._fenced(*row) for row in rows if self._passes(row[0])),
            "own": fence("your last position", "", _post(shown, shown.own)) if shown.own is not None else "",
            "expert": "" if shown.expert is None else self._escape(_specification(shown)),
            **self._tools(),
            **quoting(shown),
            **{name: self._escape(text) for name, text in self._kind.prompt_slots(shown).items()},
            "error": self._refusal(),
            "reply": self._asked_for if not cut else f"{self._told_cut(others)}\n\n{self._asked_for}",
        }
        system, context, task = (fill(part, values).strip() for part in (parts.identity, parts.context, parts.task))
        self.lasting = len(system) + len(context)
        return [
            {"role": "system", "content": system},
            {"role": "user", "content": "\n\n".join(part for part in (context, task) if part)},
        ]

    def _background(self) -> Iterator[str]:
        if not self._shown.background:
            return
        text = first_tokens(self._shown.background, self._shown.caps.input_tokens // _BEFORE)
        yield f"The question follows up an earlier session. What that one came to says what is meant; {_NO_EVIDENCE}"
        yield self._fence("what the earlier session found", "", text, len(self._shown.background))

    def _refusal(self) -> str:
        shown = self._shown
        if not shown.error:
            return ""
        why = "Your last attempt at this turn was not accepted:\n\n" + self._fence("error", "", shown.error)
        quoted = f"\n\nIt was:\n\n{self._fence('refused reply', '', shown.refused)}" if shown.refused else ""
        return f"{why}{quoted}"

    def _passes(self, other: Other) -> bool:
        """Whether a post belongs to this turn alone. Templates with one place for posts show all of them there."""
        if self._one_place:
            return "{{now}}" in self._parts.task
        return other.passing or other.kind in self._kind.passing

    def _told_cut(self, others: Texts) -> str:
        kind = self._kind
        rounds = {o.round for o in self._shown.others if kind.sums_up and o.kind == kind.sums_up}
        gone = [o for o, text in zip(self._shown.others, others, strict=True) if text is None]
        self.summed_up = sorted({o.round for o in gone} & rounds)
        warning = (
            "Not everything fitted: texts marked as cut go on beyond what you see, so do not conclude anything from "
        )
        warning += "what they lack."
        if self.summed_up:
            named = ", ".join(map(str, self.summed_up))
            warning += f" What was said in round {named} is left out: your own summary stands for it."
        if any(o.round not in rounds for o in gone):
            warning += " Notes are left out."
        return warning

    def _fenced(self, other: Other, text: str, of: int) -> str:
        note = self._kind.aside and other.channel != "public"
        label = f"{other.post}, {other.kind}, round {other.round}"
        if other.post < 0:
            label = other.label
        return self._fence("note" if note else "post", label, text, of)

    def _brief(self) -> str:
        text = _brief(self._shown)
        return "" if text in ("", "{}") else self._fence("state of the debate", "", text)

    def _tools(self) -> dict[str, str]:
        """What may be called, how, and how often: the same in all steps of a turn."""
        offered = _offered(self._shown)
        tools = self._shown.tools if self._shown.steps is None else self._shown.steps.tools
        missing = ""
        if self._shown.missing:
            names = self._escape(", ".join(self._shown.missing))
            missing = f"\n\nNot all tools of {names} are there in this turn. Do without them, and say what you could "
            missing += "not do or see for that reason."
        if tools is None or not offered:
            return {"tools": "", "tools_left": "", "calling": f"You have no tools in this turn.{missing}"}
        named = self._escape(", ".join(function_names(offered))) if self._native else ""
        budget = f"{tools.calls_left} calls of tools, in at most {tools.steps_left} steps before the last"
        return {
            "tools": "" if self._native else self._fence("tools", "", _described(offered)),
            "tools_left": f"You may make at most {budget}, which is without tools.",
            "calling": (render(calling(True), {"names": named}) if self._native else calling(False)) + missing,
        }


def quoting(shown: Shown) -> dict[str, str]:
    """The orders on evidence. Nobody is asked to quote if there is nothing to quote."""
    own = bool(shown.documents)
    theirs = any(getattr(o.body, "citations", ()) for o in shown.others)
    weighing = "Evidence that is quoted weighs more than what is only claimed."
    if not theirs:
        weighing = "A figure, study or quotation without a source is only a claim."
    if not own and not theirs:
        return {
            "quoting": "You hold no documents: go by what is commonly known, and invent no figure, study or quotation.",
            "citations": "an empty list.",
            "weighing": weighing,
        }
    sources = " or ".join(name for name, present in (("your documents", own), ("what others cite", theirs)) if present)
    return {
        "quoting": f"Evidence is a quotation from {sources}, word for word, with the document named. Where that is "
        "silent, go by what is commonly known, and invent nothing.",
        "citations": f"spans of {sources} that carry it, each with `document`, its name, and a `quote` copied word for "
        "word; empty if there are none.",
        "weighing": weighing,
    }


def _asked_for(schema: dict[str, Any] | None, repair: Repair | None, begins: str = "Reply") -> str:
    text = f"{begins} with one JSON object and nothing else"
    if schema is None:  # the server holds the model to it, or it calls tools first
        text += "."
    else:
        text += ": no prose before or after it, no code fence. It follows this JSON schema:\n\n"
        text += msgspec.json.encode(schema).decode()
    return text if repair is None else f"{text}\n\n{_repaired(repair)}"


def _repaired(repair: Repair) -> str:
    reply = first_tokens(repair.reply, 400)
    return (
        "You have replied once already, and the reply could not be used. It was, as a JSON string:\n\n"
        f"{msgspec.json.encode(reply).decode()}\n\nWhat was wrong: {first_tokens(repair.error, 150)}\n\n"
        "Reply again, complete and corrected."
    )


def _readable(body: Any) -> str:
    if isinstance(body, str):
        return body
    return msgspec.json.format(msgspec.json.encode(_filled(msgspec.to_builtins(body))), indent=1).decode()


def _filled(value: Any) -> Any:
    """The fields that are not empty: empty ones say nothing, and cost tokens."""
    if isinstance(value, list | tuple):
        return [_filled(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {k: _filled(v) for k, v in value.items() if v is not None and v not in ("", [], (), {})}


def _brief(shown: Shown) -> str:
    shown_as = kind_of(shown.protocol, shown.kind).prompt_brief
    if shown_as is None:
        return _readable(shown.brief)
    parts = _filled(shown_as(shown.brief))
    return "" if not parts else "{\n" + ",\n".join(f" {_compact(k)}: {_compact(v)}" for k, v in parts.items()) + "\n}"


def _specification(shown: Shown) -> str:
    shown_as = kind_of(shown.protocol, shown.kind).prompt_spec
    specification = shown.expert if shown_as is None else shown_as(shown.expert)
    return specification if isinstance(specification, str) else _compact(specification)


def _post(shown: Shown, body: Any) -> str:
    shown_as = kind_of(shown.protocol, shown.kind).prompt_post
    return _readable(body if shown_as is None or isinstance(body, str) else shown_as(body))


def _described(tools: tuple[Any, ...]) -> str:
    """A line for each tool, without the titles that servers make from the arguments' names."""
    return "\n".join(_compact(untitled(msgspec.to_builtins(tool))) for tool in tools)


def untitled(schema: Any) -> Any:
    """A JSON schema without its titles, which repeat the names of the fields."""
    if isinstance(schema, list | tuple):
        return [untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: untitled(v) for k, v in schema.items() if not (k == "title" and isinstance(v, str))}


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _cut(texts: Sequence[str | None], tokens: int) -> Texts:
    """The texts in so many tokens together: short ones whole, the others cut to the same length. None stays None."""
    by_size = sorted((estimate(text), i) for i, text in enumerate(texts) if text is not None)
    remaining, room = len(by_size), max(0, tokens - _SPARE * len(by_size))
    result = list(texts)
    for _, i in by_size:
        share = room // remaining
        text = result[i] = first_tokens(texts[i] or "", share)
        room -= estimate(text)
        remaining -= 1
    return result
