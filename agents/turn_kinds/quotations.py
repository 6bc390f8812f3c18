"""Quotations in a reply, before it is submitted: word for word as they stand, and those that stand nowhere left out.

Models set other quotation marks and dashes than the text that they quote, and now and then they quote what nobody
wrote. The checks of the protocols take quotations word for word and refuse a reply for any other. So a quotation gets
the text's own words here, where the texts are that the seat was shown. One that cannot be found is dropped, with a
flag, and the answer stays.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion
from parley.schemas.text import Citation, standing
from parley.schemas.wire import Undecodable, decode

DROPPED = "quotes_dropped"
"""Flag of a reply that lost quotations."""
_TELLING = 20
"""Characters of a quotation from which on it tells where it comes from."""


class _Texts:
    """What the seat may quote: texts by the name of their document, or of their passage."""

    def __init__(self, shown: Shown) -> None:
        self._held = {document.name: [document.text] for document in shown.documents}
        self._told: dict[str, list[str]] = {}
        self._decides = shown.attempt > 1
        for body in (shown.own, *(other.body for other in shown.others)):
            for part in _structs(body):
                if isinstance(part, Citation):
                    self._told.setdefault(part.document, []).append(part.quote)
                elif {"id", "text"} <= set(part.__struct_fields__):
                    self._held.setdefault(str(part.id), []).append(str(part.text))

    def words(self, name: str, quote: str) -> tuple[str, str] | None:
        """The name and the words of a quotation; None: it stands nowhere. Of a document that the seat does not hold it
        has seen what others quote; whether that is all of it the first check says."""
        for text in (*self._held.get(name, ()), *self._told.get(name, ())):
            if found := standing(quote, text):
                return name, found
        if name in self._held or self._decides:
            return None
        for other, texts in self._held.items() if len(quote) >= _TELLING else ():
            if found := standing(quote, texts[0]):
                return other, found
        return name, quote


def verbatim(shown: Shown, completion: Completion) -> Completion:
    """The completion with its quotations word for word, and without those that stand nowhere."""
    body = completion.body
    try:
        body = decode(body, shown.reply) if isinstance(body, msgspec.Raw) else body
    except Undecodable:
        return completion  # the moderator says what is wrong with it
    quoted = [part for part in _structs(body) if _names(part) is not None]
    if not quoted:
        return completion
    texts, dropped = _Texts(shown), False
    mended: dict[int, Any] = {}
    for part in quoted:
        field = _names(part)
        assert field is not None
        found = texts.words(getattr(part, field), part.quote)
        dropped = dropped or found is None
        try:
            mended[id(part)] = (
                None
                if found is None
                else (
                    part
                    if found == (getattr(part, field), part.quote)
                    else msgspec.structs.replace(part, **{field: found[0], "quote": found[1]})
                )
            )
        except ValueError:  # with what an ellipsis left out it is longer than a quotation may be
            mended[id(part)], dropped = None, True
    if all(mended[id(part)] is part for part in quoted):
        return completion
    flags = (*completion.flags, DROPPED) if dropped else completion.flags
    return msgspec.structs.replace(completion, body=_with(body, mended), flags=flags)


def _names(part: Any) -> str | None:
    """The field that says where a quotation stands; None: it is none."""
    fields = part.__struct_fields__
    return next((name for name in ("document", "passage") if name in fields and "quote" in fields), None)


def _structs(value: Any) -> Iterator[Any]:
    """Messages inside a message, itself first."""
    if isinstance(value, msgspec.Struct):
        yield value
        for name in value.__struct_fields__:
            yield from _structs(getattr(value, name))
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _structs(item)


def _with(value: Any, mended: dict[int, Any]) -> Any:
    """A copy in which quotations are replaced, and those that are None are left out of their lists."""
    if isinstance(value, tuple | list):
        return tuple(_with(item, mended) for item in value if mended.get(id(item), item) is not None)
    if not isinstance(value, msgspec.Struct):
        return value
    if id(value) in mended:
        return mended[id(value)]
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    changed = {name: new for name, old in fields.items() if (new := _with(old, mended)) is not old and new != old}
    return msgspec.structs.replace(value, **changed) if changed else value
