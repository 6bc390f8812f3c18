"""madp: how a task ends, and questions to a human (seeds/madp.md 9.3): open until answered or until their default
holds."""

from typing import Any

import msgspec

from parley.coordinator.commands import CloseWindow, Finish, Notify, OpenWindow, Stop
from parley.coordinator.protocols.madp.evidence.ledger import evidence
from parley.coordinator.protocols.madp.state import INBOX, Phase, Says, State, say, verdicts
from parley.coordinator.table import Step, View
from parley.schemas.protocols.madp.messages import ITEM, Answered, Item, ItemKind, Settings, Warned
from parley.schemas.wire import raw

MOST_QUESTION = 4_000
"""Characters of an item's question."""
replace = msgspec.structs.replace


def window_of(item: Item) -> str:
    """Whose end is the item's deadline."""
    return f"{ITEM} {item.id}"


def open_item(
    s: State, v: View, says: Says, kind: ItemKind, question: str, choices: tuple[str, ...], default: str
) -> Step:
    """Ask a human, and wait."""
    settings: Settings = v.settings
    item = Item(
        id=str(len(s.items) + 1),
        kind=kind,
        question=question[:MOST_QUESTION],
        choices=choices,
        default=default,
        deadline_ns=v.at_ns + int(settings.item_s * 1e9),
    )
    s = replace(s, phase=Phase.WAITING, items=(*s.items, item))
    return s, (
        *says,
        say(s, "item", item, channel=INBOX),
        OpenWindow(name=window_of(item), seconds=settings.item_s),
        Notify(severity="warning", text=f"a task waits for a human ({kind}): {item.question[:200]}"),
    )


def close_item(s: State, choice: str, note: str, author: str) -> Says:
    """What was answered to the open item; no author: nobody answered, and the default holds."""
    item = s.items[-1]
    body = Answered(id=item.id, choice=choice, note=note, author=author)
    return (say(s, "answered", body, channel=INBOX), CloseWindow(name=window_of(item)))


def warn(s: State, says: Says, text: str) -> tuple[State, Says]:
    """A warning, for all and for the result."""
    s = replace(s, warnings=(*s.warnings, text))
    return s, (*says, say(s, "warning", Warned(text=text)))


def figures(s: State, v: View, says: Says) -> dict[str, Any]:
    """What every certificate holds; `says` are the posts of this transition, which the view has not yet."""
    by_time = {c.when: {"exit": c.exit, "failed": len(c.failed)} for c in s.checks}
    record = evidence(s, v, says)
    seen = {
        "commands": [f"{r.by}: {r.command}: {r.ended}" for r in record.commands],
        "read": len(record.read),
        "written": list(record.written),
        "refused": len(record.refused),
        "unasked": list(record.unasked),
        "claims": list(record.claims),
    }
    learned = {"preferences": list(s.learned)} if s.learned else {}
    return ({"check": by_time} if by_time else {}) | ({"evidence": seen} if s.work is not None else {}) | learned | {
        "depth": s.depth, "lead": s.lead, "rounds": len(s.rounds), "reviews": s.iteration, "revisions": s.revisions,
        "verdicts": verdicts(s.rounds[-1], v) if s.rounds else {}, "handoffs": s.handoffs, "overrides": s.overrides,
        "items": len(s.items),
    }  # fmt: skip


def end(s: State, v: View, says: Says, reason: str, **more: Any) -> Step:
    """The stop decision with its certificate, and the end."""
    stop = Stop(reason=reason, certificate=raw(figures(s, v, says) | more))
    return replace(s, phase=Phase.DONE), (*says, stop, Finish())
