"""What a seat looked up becomes documents of its session, by a fold over its replies: no replay looks anything up."""

from collections.abc import Iterable

import msgspec

from parley.schemas import log
from parley.schemas.session import MAX_EVIDENCE, Document, Looked
from parley.schemas.tools import Found


def with_found(opened: log.Opened, ask: log.Ask, found: Iterable[Found], at_ns: int) -> log.Opened:
    """The opening with these documents: the seat's own at once, and those of all seats of its role from the next round
    on (`Document.is_shown`). What is there already stays as it is."""
    there = {name for d in opened.documents for name in (d.id, d.name)}
    room = MAX_EVIDENCE - sum(len(d.text) for d in opened.documents)
    role = next(s.role for s in opened.seats if s.seat == ask.seat)
    holders = tuple(s.seat for s in opened.seats if s.role == role)
    more = []
    for one in found:
        room -= len(one.text)
        if room < 0 or one.id in there or one.name in there:
            continue
        there |= {one.id, one.name}
        source = f"{one.server}.{one.tool} {one.arguments}"
        looked = Looked(seat=ask.seat, round=ask.round, at_ns=at_ns, source=source)
        more.append(Document(id=one.id, name=one.name, text=one.text, holders=holders, looked=looked))
    return msgspec.structs.replace(opened, documents=(*opened.documents, *more)) if more else opened
