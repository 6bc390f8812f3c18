"""A moderator that knows version 1 of a protocol gives way to one that knows versions 1 and 2, while sessions go on.

Version 2 is invented: the protocol that does as it is told says one thing more where its session begins.
"""

import pytest

from parley.coordinator.commands import SayOn
from parley.coordinator.moderator import Moderator
from parley.coordinator.replay import Diverged, replay
from parley.coordinator.table import Step, View
from parley.schemas import log
from parley.schemas.result import Result
from parley.schemas.wire import decode, raw
from tests.coordinator.floor_play import ANSWERS, FLOOR, ends
from tests.engine.floor import opened, protocols, say
from tests.support.engine import Engine, counted, until


def _start(view: View) -> Step:
    state, wishes = FLOOR.start(view)
    if view.opened.version == 1:
        return state, wishes
    return state, (SayOn(channel="public", kind="welcome", round=0, body=raw({})), *wishes)


FIRST, BOTH = protocols(), protocols(version=2, oldest=1, start=_start)


def left(moderator: Moderator) -> float:
    """Messages of sessions of another version that it left to others."""
    return counted(moderator._metrics.left_to_others.labels(reason="version"))


async def version(engine: Engine, sid: str) -> int:
    first = (await engine.entries(sid))[0].event
    assert isinstance(first, log.Opened)
    return first.version


async def over(engine: Engine, sid: str) -> None:
    """Somebody who has not spoken yet ends it."""
    assert (await say(engine, "end", sid, who="panelist_3")).verdict == "accepted"
    result = decode((await engine.closed(sid)).body, Result)
    assert (result.status, result.stop.reason) == ("finished", "played")


async def test_sessions_of_both_versions_go_on_while_moderators_are_exchanged(bare: Engine) -> None:
    ANSWERS["end"] = ends
    first = await bare.moderator(FIRST)
    await opened(bare, "one")
    both = await bare.moderator(BOTH)
    assert (await say(bare, "word", "one")).verdict == "accepted"
    await first.__aexit__()
    await opened(bare, "two")
    assert [await version(bare, sid) for sid in ("one", "two")] == [1, 2]
    assert (await say(bare, "word", "one", who="panelist_2")).verdict == "accepted", "whoever knows both steps both"
    again = await bare.moderator(FIRST)

    async def left_to_the_other() -> bool:
        assert (await say(bare, "word", "two")).verdict in ("accepted", "busy"), "busy: ask any moderator again"
        return left(again) > 0

    await until(left_to_the_other, 30.0)
    await again.__aexit__()
    await over(bare, "one")
    await over(bare, "two")
    assert await bare.kept("ASIDE") == [] and left(both) == 0
    records = {sid: await bare.log(sid) for sid in ("one", "two")}
    states = {sid: replay(BOTH.get, sid, found).session for sid, found in records.items()}
    assert all(state.closed for state in states.values())
    assert replay(FIRST.get, "one", records["one"]).session == states["one"]
    with pytest.raises(Diverged, match="written by version 2 of floor, this is version 1"):
        replay(FIRST.get, "two", records["two"])
    kinds = {sid: [p.kind for p in state.posts] for sid, state in states.items()}
    assert "welcome" in kinds["two"] and "welcome" not in kinds["one"]
