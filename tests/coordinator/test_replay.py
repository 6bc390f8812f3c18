"""Replay: recomputed from the events alone, and the same events under other settings."""

import dataclasses
from typing import Any

import msgspec
import pytest

from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import Diverged, Parting, replay, what_if
from parley.schemas import log
from parley.schemas.wire import decode, encode
from tests.protocols.consensus.play import CONSENSUS, Play, cite, document, says

ADOPTS: dict[str, Any] = {"change": "adopted", "change_reason": "convinced"}


def recorded() -> Play:
    """Two rounds with a retry, a missing seat and a moved one, which signs; converged."""
    play = Play({"threshold": 90}, documents=[document("a.md", "Vilnius has been the capital since 1323.")])
    play.reply("panelist_1", says("Vilnius"))
    play.reply("panelist_2", None, error="down")
    play.reply("panelist_2", says("Kaunas"))
    play.reply("panelist_3", says("Vilnius"))
    play.compare({"Vilnius": "13", "Kaunas": "2"}, near=90, key_disagreements=("the city",))
    play.reply("panelist_1", says("Vilnius"))
    play.reply("panelist_2", says("It is Vilnius", **ADOPTS, moved_by=(cite("a.md", "since 1323"),)))
    play.expire()  # early
    play.expire()
    play.score(95)
    play.sign("panelist_2")
    return play


def signed_by_two(threshold: float) -> Play:
    """One round in which the third seat signs neither sentence: two of three stand behind it."""
    play = Play({"threshold": threshold})
    play.answers("Vilnius", "It is Vilnius", "Vilnius, for now")
    play.compare({"Vilnius": "123"}, near=95)
    play.sign("panelist_2")
    play.sign("panelist_3", "neither")
    return play


LOG = recorded().log


def test_a_log_recomputes_to_itself() -> None:
    again = replay(PROTOCOLS.get, "s1", LOG)
    assert [encode(e) for e in again.entries] == LOG
    assert again.session.closed
    assert again.result is not None
    assert again.result.stop.reason == "threshold"
    assert replay(PROTOCOLS.get, "s1", [e.decode() for e in LOG]).result == again.result


def altered(n: int, at: int, flip: int) -> list[bytes]:
    entry = bytearray(LOG[n])
    entry[at] ^= flip
    return [*LOG[:n], bytes(entry), *LOG[n + 1 :]]


@pytest.mark.parametrize("n", range(len(LOG)))
def test_any_altered_byte_fails(n: int) -> None:
    """A bit of every eleventh byte, each entry from another offset on."""
    for at in range(n % 11, len(LOG[n]), 11):
        with pytest.raises(Diverged) as found:
            replay(PROTOCOLS.get, "s1", altered(n, at, 1))
        assert found.value.n >= 0


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ([], "transition 0: the record is empty"),
        (LOG[1:], "begins with Replied"),
        ([*LOG[:2], *LOG[3:]], "transition 2"),
        ([LOG[0], LOG[0]], "transition 1: the event cannot be taken: Illegal: Opened has no place in an open session"),
        ([*LOG, LOG[-1]], "the session is closed"),
        ([*LOG[:2], b"{"], "transition 2: it cannot be read"),
    ],
)
def test_a_record_that_is_not_one(entries: list[bytes], text: str) -> None:
    with pytest.raises(Diverged, match=text):
        replay(PROTOCOLS.get, "s1", entries)


def test_another_version_or_protocol_is_told() -> None:
    first = decode(LOG[0], log.Entry)
    assert isinstance(first.event, log.Opened)
    for field, value, text in (("version", 99, "written by version 99"), ("protocol", "none", "no protocol is named")):
        event = msgspec.structs.replace(first.event, **{field: value})
        with pytest.raises(Diverged, match=text):
            replay(PROTOCOLS.get, "s1", [encode(msgspec.structs.replace(first, event=event))])
    later = dataclasses.replace(CONSENSUS, version=2, oldest=1)
    assert replay({"consensus": later}.get, "s1", LOG).session.closed, "it steps what the version before it began"
    with pytest.raises(Diverged, match="written by version 1 of consensus, this is version 2"):
        replay({"consensus": dataclasses.replace(later, oldest=None)}.get, "s1", LOG)


# ---------------------------------------------------------------- what if


def what(**overrides: Any) -> Parting:
    return what_if(PROTOCOLS.get, "s1", LOG, overrides)


def test_a_lower_threshold_puts_a_sentence_earlier() -> None:
    got = what(threshold=60)
    assert got.n == 5
    assert got.how == (
        "after round 1 (score 56): recorded run asks round 2 (revise), this one posts put on public and asks round 1 "
        "(sign); the answer to what it asks from here on was not recorded: the record carries it no further"
    )
    assert (got.stop, got.result, got.carried) == (None, None, 6)
    assert "asks round 1 (sign)" in got.this
    assert "asks round 2 (revise)" in got.recorded


def test_a_lower_threshold_counts_the_recorded_signatures_anew() -> None:
    play = signed_by_two(90)
    assert not play.session.closed and play.asked() == [("analyst", "conclude")]
    got = what_if(PROTOCOLS.get, "s1", play.log, {"threshold": 60})
    assert got.stop == "threshold" and got.result is not None
    assert (got.result.outcome["answer"], got.result.outcome["agree"]) == ("Vilnius", 2)
    assert [x["stands"] for x in got.result.outcome["signatures"]] == ["said", "signed", "neither"]
    assert got.how.endswith("this run ends here, and its result is complete")
