"""A turn that came to nothing is told with its reason, and a reply with its flags, whatever the protocol."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from parley.client.records import Record
from parley.client.rendering import explain
from parley.client.rendering.terminal import bare, card_lines, end_lines, part_lines
from parley.client.turns import Turns
from parley.client.view.fold import Fold
from parley.schemas import log
from parley.schemas.protocols.maci.messages import Blind, Span
from parley.schemas.wire import encode, raw
from parley.show.view import AnswerView, TerminalView
from tests.client import shown
from tests.protocols.competition import play as competition_play
from tests.protocols.competition.play import small, speech
from tests.protocols.consensus import play as consensus_play
from tests.protocols.critic import play as critic_play
from tests.protocols.maci import play as maci_play
from tests.protocols.maci.play import belief

DOWN = "model unreachable"


def record_of(entries: Sequence[log.Entry]) -> Record:
    return Record(sid="s1", entries=tuple(encode(e).decode() for e in entries))


def transcript(record: Record, *, everything: bool = False) -> str:
    """What is shown as it comes."""
    fold, live = Fold("s1", everything=everything), list[str]()
    for text in record.entries:
        live += bare(told for card in fold.entry(text) for told in card_lines(card))
        live += [f"  {notice.text}" for notice in fold.notices()]
    card = fold.answer()
    live += bare([*end_lines(fold), *(x for p in (card.parts if card else ()) for x in part_lines(p))])
    return "\n".join(live)


def told(record: Record, pattern: str, *, everything: bool = False) -> None:
    """The line stands there once."""
    text = transcript(record, everything=everything)
    assert len(re.findall(pattern, text, re.M)) == 1, text


def blind(*shares: float, quote: str = maci_play.TEXTS[0]) -> Blind:
    return Blind(belief=belief(*shares), spans=(Span(passage="p1", quote=quote),))


def test_what_is_wrong_on_a_hidden_channel_is_told_with_all_alone() -> None:
    play = competition_play.Play(small(speech("pro_1"), confer=0))
    play.until("speak").says("pro_1", "We hold that it would.")
    play.fail("judge")
    record = record_of(play.entries)
    told(record, rf"^  Judge is missing \(score\): {DOWN}$", everything=True)
    text = transcript(record)
    assert DOWN not in text and DOWN not in "\n".join(explain.explanation_lines(record, "all"))
    assert "Judge is silent (scores in One)" in text


def test_a_deadline_is_told_too() -> None:
    play = consensus_play.Play({"attempts": 1})
    play.expire()
    assert "Panelist 1, Panelist 2, Panelist 3 are missing: its deadline of 120 s passed" in shown.card(play).weak


def test_a_record_of_another_version_is_told_as_far_as_the_log_goes() -> None:
    play = maci_play.Play(debaters=3)
    play.fail("debater_1")
    first, *rest = play.entries
    assert isinstance(first.event, log.Opened)
    old = msgspec.structs.replace(first, event=msgspec.structs.replace(first.event, version=99))
    assert [(n.seat, n.why) for n in Turns([old, *rest]).nothing] == [("debater_1", DOWN)]


@pytest.mark.parametrize("view", [AnswerView, TerminalView])
def test_where_only_the_answer_or_the_frame_is_wanted_the_reason_goes_to_stderr(
    view: type[TerminalView], capsys: pytest.CaptureFixture[str]
) -> None:
    play = critic_play.Play()
    play.fail("answerer")
    shows, fold = view(), shown.fold(play)
    shows.begins(fold)
    assert fold.result is not None
    shows.result(fold.result)
    assert f"parley: Nothing came of Answerer (answer, round 1): {DOWN}\n" in capsys.readouterr().err


def flagged(play: Any, seat: str, body: object, *flags: str) -> None:
    turn = play.turn(seat)
    play.event(log.Replied(turn=turn.id, body=raw(body), flags=flags), turn.id)


def test_flags_are_shown_whoever_replied() -> None:
    play = maci_play.Play(q0=None)
    flagged(play, "helper", maci_play.retrieved(0.6), "encoder", "injection")
    for _ in range(2):
        flagged(play, "debater_1", blind(0.4, 0.3), "repaired")  # not taken, and so not told
    flagged(play, "debater_2", blind(0.5, 0.5), "cut")
    record = record_of(play.entries)
    told(record, r"^  Helper \(retrieve\): note: something that it read looks like")
    told(record, r"note: not all that others said")
    lines = transcript(record).split("\n")
    at = next(i for i, text in enumerate(lines) if "note: not all that others" in text)
    assert any(text.startswith("  Debater 2, alone") for text in lines[at - 4 : at])
    assert not any("could not be used" in text for text in lines)
    debate = competition_play.Play(small(speech("pro_1"), summary=True))
    flagged(debate, "pro_1", {"text": "We hold it."}, "injection")
    told(record_of(debate.entries), r"^      note: something that it read looks like")
