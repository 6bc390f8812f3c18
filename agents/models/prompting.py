"""Prompts: a Markdown file for each kind of turn, filled with what the turn shows.

A file is `<kind>.md` in the folder that the protocol's kit names (agents/protocols/<protocol>/prompts): the
instructions, a line `---`, and what they are about.
`{{name}}` is replaced, once and in one pass, so that what is put in is never looked at again. There is no logic in a
template: which sections there are is the same in every round, and an empty one says so in words. That is why a
renderer of ten lines is enough, and why no template engine stands between a text from outside and the prompt.

What anybody said (the question, documents, other agents, the turn's brief) stands between two lines that carry a
boundary made fresh for this prompt. Text that contains the boundary, or a line that looks like one, is escaped.
"""

import re
import secrets
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from agents.context import Shown
from agents.models.base import ModelMisconfigured, ModelRefused
from agents.models.injection import suspicious
from agents.protocols import KITS, kind_of
from agents.tokens import estimate, first_tokens

_KIND = re.compile(r"[a-z0-9_]+")
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_LINE = re.compile(r"\[\[(?=\s*(?:BEGIN|END)\b)", re.I)
_UNSAFE = re.compile(r"[^\w .,/()+-]+")
_KEPT = 4
"""What others said keeps this part of the cap, where documents must be cut too: who argues has to know with whom."""

Messages = list[dict[str, str]]


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """What is sent."""

    messages: Messages
    input_tokens: int
    """Estimated."""
    flags: tuple[str, ...]
    """`injection`: something in it talks to the model as to a machine. `cut`: not all of it fitted."""


class Repair(msgspec.Struct, frozen=True, kw_only=True):
    """What was wrong with the reply before."""

    said: str
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
) -> Prompt:
    """The prompt of a turn, cut to `shown.caps.input_tokens`: what others said first, down to a quarter of it, then
    the seat's documents; never the task, and never what the seat said itself.

    Parameters
    ----------
    schema
        Put into the prompt where the server is not given it.
    repair
        The reply that was not accepted, and why.
    room
        Tokens that the model's window holds, where that is less.

    Raises
    ------
    ModelRefused
        No prompt is written for this kind of turn.
    ModelMisconfigured
        What cannot be cut is more than the cap.
    """
    system, user = _template(shown.protocol, shown.kind)
    pieces = _Pieces(shown, boundary(), _asked_for(schema, repair))
    cap = shown.caps.input_tokens if room is None else min(shown.caps.input_tokens, room)
    documents = [d.text for d in shown.documents]
    others = [_post(shown, o.body) for o in shown.others]
    whole = pieces.messages(system, user, documents, others)
    size = _size(whole)
    flags: tuple[str, ...] = ()
    if size > cap:
        flags = ("cut",)
        bare = cap - _size(pieces.messages(system, user, documents, [""] * len(others), True))
        kept = min(sum(map(estimate, others)), cap // _KEPT)
        others = _cut(others, max(bare, kept) if documents else bare)
        if documents and bare < kept:
            bare = cap - _size(pieces.messages(system, user, [""] * len(documents), others, True))
            documents = _cut(documents, bare)
        whole = pieces.messages(system, user, documents, others, True)
        size = _size(whole)
        if size > cap:
            raise ModelMisconfigured(
                f"this turn's prompt has some {size:,} tokens even when cut, "
                + (
                    f"its cap on input is {cap:,}"
                    if room is None or room > cap
                    else f"the model's window holds {cap:,}"
                )
            )
    if suspicious(_said(shown, documents)):
        flags = ("injection", *flags)
    return Prompt(messages=whole, input_tokens=size, flags=flags)


def _said(shown: Shown, documents: list[str]) -> Iterator[str]:
    """What others wrote, of documents as much as is shown."""
    yield from (d.name for d in shown.documents)
    yield from documents
    for other in shown.others:
        yield from _texts(other.body)
    yield from _texts(shown.brief)
    if shown.tools is not None:
        yield from _texts(shown.tools.offered)


class _Pieces:
    """A turn's texts in their fences."""

    def __init__(self, shown: Shown, boundary: str, asked_for: str) -> None:
        self._shown = shown
        self._boundary = boundary
        self._asked_for = asked_for

    def messages(self, system: str, user: str, documents: list[str], others: list[str], cut: bool = False) -> Messages:
        """The two messages, with documents and others' words cut by the caller."""
        shown, fence = self._shown, self._fence
        kind = kind_of(shown.protocol, shown.kind)
        apart = kind.aside

        def said(*, aside: bool) -> Iterator[str]:
            for other, text in zip(shown.others, others, strict=True):
                if (apart and other.channel != "public") is aside:
                    about = f"post {other.post}, {other.kind}, round {other.round}"
                    if other.post < 0:
                        about = other.label
                    elif kind.labels:
                        about = f"{other.label}, {about}"
                    yield fence("post" if not aside else "note", about, text)

        values = {
            "rules": _rules().replace("{{boundary}}", self._boundary),
            "role": shown.role,
            "round": str(shown.round),
            "question": fence("question", "", shown.question),
            "brief": fence("state of the debate", "", _brief(shown)),
            "documents": "\n\n".join(
                fence("document", document.name, text, len(document.text))
                for document, text in zip(shown.documents, documents, strict=True)
            ) or "You hold no documents.",
            "others": "\n\n".join(said(aside=False)) or "Nobody else has been heard yet.",
            "aside": "\n\n".join(said(aside=True)) or "Nothing has been said there yet.",
            "own": fence("your last position", "", _readable(shown.own)) if shown.own is not None
            else "You have not taken a position yet.",
            "expert": "You have none." if shown.expert is None
            else fence("specification", shown.expert.id, _specification(shown)),
            "tools": self._tools(),
            **{name: self._escape(text) for name, text in _orders(shown).items()},
            "error": "" if not shown.error else "Your last attempt at this turn was not accepted:\n\n"
            + fence("error", "", shown.error),
            "reply": self._asked_for if not cut else "Not everything fitted: texts marked as cut go on beyond what you "
            "see, so do not conclude anything from what they lack.\n\n" + self._asked_for,
        }  # fmt: skip
        return [
            {"role": "system", "content": render(system, values).strip()},
            {"role": "user", "content": render(user, values).strip()},
        ]

    def _tools(self) -> str:
        tools = self._shown.tools
        if tools is None:
            return "None can be used in this step: end the turn now, with what you have."
        left = f"{tools.calls_left} more calls of tools, in at most {tools.steps_left} more steps before the last"
        return f"{self._fence('tools', '', _offered(tools.offered))}\n\nYou may make {left}, which is without tools."

    def _fence(self, what: str, name: str, text: str, of: int = 0) -> str:
        """A text between two lines with the boundary."""
        about = " ".join(x for x in (what, _UNSAFE.sub("_", self._escape(name))[:200]) if x)
        if len(text) < of:
            about += f" (cut: the first {len(text):,} of {of:,} characters)"
        return f"[[BEGIN {self._boundary} {about}]]\n{self._escape(text)}\n[[END {self._boundary}]]"

    def _escape(self, text: str) -> str:
        text = _LINE.sub("[ [", text) if "[[" in text else text
        if self._boundary not in text.lower():
            return text
        return re.sub(re.escape(self._boundary), "(boundary removed)", text, flags=re.I)


def render(template: str, values: dict[str, str]) -> str:
    """The template with each `{{name}}` replaced; what is put in is not looked at. A KeyError for an unknown name."""
    return _SLOT.sub(lambda slot: values[slot[1]], template)


def _template(protocol: str, kind: str) -> tuple[str, str]:
    """Instructions, and what they are about."""
    kit = KITS.get(protocol)
    if kit is None or kit.prompts is None or not (_KIND.fullmatch(kind) and (kit.prompts / f"{kind}.md").is_file()):
        raise ModelRefused(f"no prompt is written for {kind!r} turns of protocol {protocol!r}")
    return _read(kit.prompts / f"{kind}.md")


@lru_cache(maxsize=256)
def _read(path: Path) -> tuple[str, str]:
    system, _, user = path.read_text(encoding="utf-8").partition("\n---\n")
    return system, user


@lru_cache(maxsize=1)
def _rules() -> str:
    return Path(__file__).with_name("prompt_rules.md").read_text(encoding="utf-8").strip()


def _asked_for(schema: dict[str, Any] | None, repair: Repair | None) -> str:
    text = "Reply with one JSON object and nothing else: no prose before or after it, no code fence."
    if schema is not None:
        text += f" It follows this JSON schema:\n\n{msgspec.json.encode(schema).decode()}"
    if repair is not None:
        said = first_tokens(repair.said, 400)
        text += (
            "\n\nYou have replied once already, and the reply could not be used. It was, as a JSON string:\n\n"
            f"{msgspec.json.encode(said).decode()}\n\nWhat was wrong: {first_tokens(repair.error, 150)}\n\n"
            "Reply again, complete and corrected."
        )
    return text


def _readable(body: Any) -> str:
    if isinstance(body, str):
        return body
    return msgspec.json.format(msgspec.json.encode(_filled(msgspec.to_builtins(body))), indent=1).decode()


def _filled(value: Any) -> Any:
    """Without the fields that hold nothing: they say nothing, and cost tokens."""
    if isinstance(value, list | tuple):
        return [_filled(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {k: _filled(v) for k, v in value.items() if v is not None and v not in ("", [], (), {})}


def _orders(shown: Shown) -> dict[str, str]:
    return kind_of(shown.protocol, shown.kind).prompt_slots(shown.brief)


def _brief(shown: Shown) -> str:
    shown_as = kind_of(shown.protocol, shown.kind).prompt_brief
    if shown_as is None:
        return _readable(shown.brief)
    parts = shown_as(shown.brief)
    return "{\n" + ",\n".join(f" {_compact(k)}: {_compact(v)}" for k, v in parts.items()) + "\n}"


def _specification(shown: Shown) -> str:
    shown_as = kind_of(shown.protocol, shown.kind).prompt_spec
    return _readable(shown.expert) if shown_as is None else _compact(shown_as(shown.expert))


def _post(shown: Shown, body: Any) -> str:
    shown_as = kind_of(shown.protocol, shown.kind).prompt_post
    return _readable(body if shown_as is None or isinstance(body, str) else shown_as(body))


def _offered(tools: tuple[Any, ...]) -> str:
    """A line for each tool, without the titles that servers make from the arguments' names."""
    return "\n".join(_compact(_untitled(msgspec.to_builtins(tool))) for tool in tools)


def _untitled(schema: Any) -> Any:
    if isinstance(schema, list | tuple):
        return [_untitled(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: _untitled(v) for k, v in schema.items() if not (k == "title" and isinstance(v, str))}


def _compact(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _texts(value: Any) -> Iterator[str]:
    """Every text in a message."""
    plain = msgspec.to_builtins(value)
    stack = [plain]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            stack += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            stack += item


def _size(messages: Messages) -> int:
    return sum(estimate(m["content"]) + 8 for m in messages)


def _cut(texts: list[str], tokens: int) -> list[str]:
    """The texts in so many tokens together: short ones whole, the others to the same length."""
    left, room = len(texts), max(0, tokens - 20 * len(texts))
    result = list(texts)
    for i in sorted(range(len(texts)), key=lambda i: estimate(texts[i])):
        share = room // left
        result[i] = first_tokens(texts[i], share)
        room -= estimate(result[i])
        left -= 1
    return result
