"""What a task says: who took it and why in a line, the work, the check, reviews, questions to a human, its trace."""

import json

import msgspec
import pytest

from parley import sessions
from parley.client.errors import BadInput
from parley.client.records import Record
from parley.client.rendering import documents, explain
from parley.client.view.fold import Fold
from parley.schemas.protocols.madp.messages import Worded
from parley.schemas.protocols.madp.trace import CoordinationTrace
from parley.schemas.tools import ToolCall
from parley.schemas.turn import Usage
from parley.schemas.wire import encode
from parley.show.view import TerminalView
from tests.client import shown
from tests.protocols.madp.play import (
    APPROVED,
    ARCH,
    AUDITOR,
    GENERAL,
    IMPL,
    REVISE,
    SEC,
    SRE,
    Play,
    blocked,
    done,
    hands,
    helps,
    objection,
    wants,
)

TOKENS = Usage(input_tokens=80, output_tokens=20, calls=1)
PROFILE = ToolCall(server="files", tool="write_file", arguments='{"path": "prof.py"}', ok=True)
THEIRS = "--- /dev/null\n+++ b/prof.py\n@@ -0,0 +1 @@\n+profile()\n"
DIFF = """diff --git a/api.py b/api.py
--- a/api.py
+++ b/api.py
@@ -1 +1 @@
-slow()
+fast()
"""
CALL = ToolCall(server="files", tool="edit_file", arguments='{"path": "api.py"}', ok=True)


def of(play: Play) -> Record:
    return Record(sid="s1", entries=tuple(encode(e).decode() for e in play.entries))


def brief(play: Play) -> str:
    return "\n".join(shown.posts(play.session.posts, brief=True))


@pytest.fixture(scope="module")
def session() -> Play:
    """Appendix A in kind: measured before optimized, handed over, reviewed twice."""
    play = Play(metered=True, helper_metered=True)
    play.reply("helper", _matched(), usage=TOKENS)
    play.claims(SRE, "high", 0.82, claim="We should measure before we optimize.", defers_to=(IMPL,),
                topics={IMPL: "the code once the bottleneck is known"})  # fmt: skip
    play.claims(ARCH, "medium", 0.45, claim="I lead if it is structural.", defers_to=(IMPL,)).passes(SEC, "No secrets.")
    play.claims(IMPL, "medium", 0.5, claim="If it is code, it is mine.")
    play.challenges(SRE).challenges(ARCH).challenges(IMPL, objection(IMPL, ARCH, "exclude", "It is no redesign."))
    play.reply(GENERAL, Worded(challenges=play.session.inner.challenges), usage=Usage(calls=1))
    play.reply(SRE, wants(IMPL, "profile the loop"), usage=TOKENS)
    play.reply(IMPL, helps("The loop takes 80 %.", calls=(PROFILE,), diff=THEIRS), usage=TOKENS)
    play.reply(SRE, hands(IMPL, "It is in the queries.", completed=("profiling",), remaining=("the queries",)))
    play.reply(IMPL, done("The query is cached.", calls=(CALL,), diff=DIFF), usage=TOKENS)
    play.reply(AUDITOR, REVISE, usage=TOKENS)
    for seat in [s for s, kind in play.asked() if kind == "review"]:
        play.reply(seat, APPROVED)
    play.reply(IMPL, done("The leak is closed.", calls=(CALL, CALL), diff=DIFF), usage=TOKENS)
    play.approve()
    return play


def _matched() -> object:
    from tests.protocols.madp.play import matched

    return matched({SRE: 0.7, ARCH: 0.6, IMPL: 0.5, SEC: 0.4}, overlap=True, clear=False)


# ---------------------------------------------------------------- posts


def test_the_view_shows_who_took_it_and_why_in_one_line_and_no_coordination(session: Play) -> None:
    told = brief(session)
    assert "  SRE leads (relevance high; confidence 0.82; We should measure before we optimize)" in told
    assert "claims it" not in told and "who may take it" not in told and "challenges" not in told


def test_everything_is_shown_where_it_is_asked_for(session: Play) -> None:
    told = "\n".join(shown.posts(session.session.posts))
    assert "who may take it [depth extended]" in told and " [fits 0.70; confidence 0.70]" in told
    assert "[proposes: exclude]: It is no redesign." in told and "SRE, hands over to " in told
    assert "+fast()" in told and "diff of 1 file, +1 −1 lines" in told


def test_explain_shows_the_coordination_with_its_cost(session: Play) -> None:
    told = "\n".join(explain.explanation_lines(of(session), "cost"))
    assert "Tokens of the coordination: 100 (intake 100, claims 0," in told and "Assigned after" in told


# ---------------------------------------------------------------- a human


def test_a_question_to_a_human_says_how_to_answer_it(capsys: pytest.CaptureFixture[str]) -> None:
    play = Play({"item_s": 300.0}).working()
    play.reply(SRE, blocked("Postgres or SQLite?"))
    view, fold = TerminalView(), Fold("s1")
    view.where = " --state here"
    view.begins(fold)
    for text in of(play).entries:
        view.cards(fold.entry(text), fold.notices())
    said = capsys.readouterr().err
    assert "item 1 (blocked) waits for a human: Postgres or SQLite?" in said
    assert "answer: free text; without one in 5 min: Go on with what you know" in said
    assert 'parley inbox answer s1 1 "..." --state here' in said
    assert [item.item for item in fold.open_items()] == ["1"]
    play.decide("1", "Postgres", "we have it")
    assert "item 1: client answered Postgres (we have it)" in brief(play)
    assert shown.fold(play).open_items() == ()


# ---------------------------------------------------------------- trace


def test_the_trace_has_every_field_of_the_specification(session: Play) -> None:
    (text,) = sessions.export(of(session), "trace")
    found = json.loads(text)
    assert set(found) >= {"id", "task_id", "timestamp", "duration_ms", "phases", "token_usage"}
    assert (found["task_id"], found["timestamp"]) == ("s1", "2023-11-14T22:13:20.000+00:00")
    assert 0 < found["duration_ms"] < 1_000
    intake = found["phases"]["intake"]
    assert intake["candidates"] == [SRE, ARCH, IMPL, SEC] and intake["coordination_depth"] == "extended"
    assert intake["complexity_factors"]["candidate_count"] == 4
    assert [c["agent_id"] for c in found["phases"]["claims"]] == [SRE, ARCH, IMPL]
    assert [c["challenged_id"] for c in found["phases"]["challenges"]] == [ARCH]
    assert found["phases"]["consensus"]["outcome"]["lead"]["agent_id"] == SRE
    assert found["token_usage"] == {"intake": 100, "claims": 0, "challenges": 0, "consensus": 0, "total": 100}
    assert (found["execution"]["tokens"], found["review"]["tokens"]) == (400, 100)
    assert [s["kind"] for s in found["steps"][:3]] == ["work", "support", "work"]
    assert msgspec.json.decode(text, type=CoordinationTrace).phases.consensus is not None


def test_the_trace_of_a_task_that_is_under_way_says_what_there_is() -> None:
    found = documents.trace(of(Play()))
    assert found.duration_ms is None and found.phases.consensus is None and found.phases.intake.candidates == ()


def test_there_is_no_trace_of_another_protocol() -> None:
    from tests.protocols.maci import record as maci_record

    record = maci_record.record(maci_record.ORDINARY)
    with pytest.raises(BadInput, match="ran maci; a coordination trace is madp's"):
        sessions.export(record, "trace")
