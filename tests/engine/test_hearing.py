"""A worker is asked, or it hears: a process that hears a post may speak up, where the protocol takes words from the
floor."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from parley.agents.hearing import Hear
from parley.bus.channels import PUBLIC
from parley.coordinator.commands import SayOn
from parley.coordinator.machine import Protocol, Spoke, Step, View, to
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.protocols.consensus.state import Phase
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.turn import Speak
from parley.schemas.wire import raw
from tests.support.engine import Engine, until


def _on_heard(state: Any, event: Spoke, _: View) -> Step:
    return state, (SayOn(channel="public", kind="claim", round=0, body=event.body, seat=event.author),)


def open_floor() -> Mapping[str, Protocol]:
    """consensus, taking claims from the floor from the first positions on."""
    consensus = PROTOCOLS["consensus"]
    table = {phase: dict(row) for phase, row in consensus.table.items()}
    for phase in (Phase.SCORING, Phase.REVISING):
        table[phase][Spoke] = to(_on_heard, phase)
    return {"consensus": replace(consensus, table=table)}


def claims(post: Post) -> Speak | None:
    """What the hearing processes do: claim once when a first position is posted."""
    if post.kind == "position" and post.seat == "panelist_1" and post.round == 1:
        return Speak(window="claims", kind="claim", body=raw({"mine": True}))
    return None


CLAIMS = Hear(((PUBLIC, "position"),), claims)


async def spoken(engine: Engine, sid: str) -> list[log.Spoke]:
    return [e.event for e in await engine.entries(sid) if isinstance(e.event, log.Spoke)]


async def test_a_process_that_hears_a_post_speaks_up(bare: Engine) -> None:
    """Copies of a queue share a group, so one of them reacts; its cause is (author, window), so it is taken once."""
    await bare.moderator(protocols=open_floor())
    slow = {"latency_s": 0.5}
    await bare.worker("panelist_1", slow, hear=CLAIMS)
    await bare.worker("panelist_1", slow, hear=CLAIMS)
    await bare.worker("panelist_2", slow, hear=CLAIMS)
    await bare.worker("panelist_3", slow)
    await bare.worker("analyst")
    await bare.open("s1")

    async def heard() -> bool:
        return len([p for p in await bare.posts("s1", "public") if p.kind == "claim"]) == 2

    await until(heard)
    await bare.closed("s1")
    words = await spoken(bare, "s1")
    assert sorted(w.author for w in words) == ["panelist_1", "panelist_2"]
    assert all(msgspec.json.decode(w.body) == {"mine": True} for w in words)


async def test_words_that_nobody_waits_for_are_refused(stack: Engine) -> None:
    """consensus takes nothing from the floor."""
    from parley.bus import subjects
    from parley.schemas.turn import Answer
    from parley.schemas.wire import decode, encode

    await stack.open("s1")
    await stack.closed("s1")
    await stack.open("s2", settings={"round_limit": 1})
    connection = await stack.connect("panelist_1")
    subject = subjects.say(subjects.ANY, "public", "panelist_1", "s1")
    speak = encode(Speak(window="w", kind="claim", body=raw({})))
    answer = decode((await connection.request(subject, speak, 5.0)).data, Answer)
    assert answer.verdict == "refused" and "closed" in answer.why
    assert await spoken(stack, "s1") == []
