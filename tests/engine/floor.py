"""The protocol that does as it is told (tests.coordinator.floor_play), on the bus."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from parley.bus import subjects
from parley.coordinator.machine import Protocol
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas.post import Post
from parley.schemas.turn import Speak, SubmitAnswer
from parley.schemas.wire import decode, encode, raw
from tests.coordinator.floor_play import FLOOR
from tests.support.engine import Engine, until


def protocols(**changes: Any) -> Mapping[str, Protocol]:
    """The registered ones, and this."""
    return {**PROTOCOLS, "floor": replace(FLOOR, **changes)}


async def opened(engine: Engine, sid: str = "s1", seconds: float = 60.0, **request: Any) -> None:
    """A session of it, without seats."""
    given = {"protocol": "floor", "settings": {"seconds": seconds}, **request}
    fate = await engine.open(sid, **given)
    assert fate.fate == "taken", fate


async def say(
    engine: Engine, kind: str, sid: str = "s1", window: str = "floor", who: str = "panelist_1"
) -> SubmitAnswer:
    """Somebody speaks up."""
    connection = await engine.connect(who)
    speak = encode(Speak(window=window, kind=kind, body=raw({})))
    subject = subjects.say(subjects.ANY, "public", who, sid)

    async def answered() -> SubmitAnswer | None:
        msg = await connection.request(subject, speak, 5.0)
        return decode(msg.data, SubmitAnswer)

    found = await until(answered)
    assert isinstance(found, SubmitAnswer)
    return found


async def posted(engine: Engine, kind: str, sid: str = "s1", channel: str = "public") -> dict[str, Any]:
    """The body of the first post of this kind, once it is there."""

    async def look() -> Post | None:
        return next((p for p in await engine.posts(sid, channel) if p.kind == kind), None)

    found: dict[str, Any] = msgspec.json.decode((await until(look, 15.0)).body)
    return found
