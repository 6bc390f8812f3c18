"""What a person sees of a task: who took it and why in a line, the work, the reviews, the result; the rest where it is
asked for."""

import json

import msgspec
import pytest

from parley import sessions
from parley.client import records
from parley.client.errors import BadInput
from parley.client.protocols import face_of
from parley.client.records import Record
from parley.client.rendering import documents, explain, page, transcript
from parley.client.rendering.transcript import Teller
from parley.client.show.live_seats import Scene
from parley.client.turns import Flagged, Turns
from parley.schemas.post import Post
from parley.schemas.protocols.madp.messages import Worded
from parley.schemas.protocols.madp.trace import CoordinationTrace
from parley.schemas.protocols.madp.work import Finding, Review, Supported, Work
from parley.schemas.tools import ToolCall
from parley.schemas.turn import Usage
from parley.schemas.wire import encode, raw
from parley.show.view import PlainView, QuietView
from tests.client.test_page import ALL, Reader
from tests.protocols.madp.play import (
    APPROVED,
    ARCH,
    AUDITOR,
    GENERAL,
    IMPL,
    QA,
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


def whole(record: Record) -> str:
    return "\n".join(transcript.show(record))


def brief(record: Record) -> str:
    teller = Teller(brief=True)
    return "\n".join(
        text
        for part in (*(teller.lines(p) for p in records.posts_of(record)), teller.end(records.result_of(record)))
        for _, text in part
    )


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


# ---------------------------------------------------------------- the view


def test_the_view_shows_who_took_it_and_why_in_one_line_and_no_coordination(session: Play) -> None:
    told = brief(of(session))
    why = "relevance high, confidence 0.82; We should measure before we optimize"
    assert f"  {SRE} leads ({why}), and may ask {IMPL} for support; extended" in told
    assert "claims it" not in told and "challenges" not in told and "relevance 0.70" not in told
    assert f"  {SRE} asks for support" in told and f"  {IMPL} gives support: profile the loop" in told
    assert "1 call of tools: 1 write_file" in told and "+profile()" not in told
    assert f"  {SRE} hands over to {IMPL}: It is in the queries." in told
    assert f"  {AUDITOR} reviews: asks for a revision" in told and "major: It leaks." in told
    assert "2 calls of tools: 2 edit_file" in told and "diff of 1 file, +1 −1 lines" in told
    assert "Result: In full: The leak is closed." in told and "+fast()" in told
    assert "approved" in told and "No answer" not in told and "confidence 0.00" not in told


def test_the_plain_view_prints_it_so(session: Play, capsys: pytest.CaptureFixture[str]) -> None:
    view = PlainView()
    for post in records.posts_of(of(session)):
        view.post(post)
    view.result(session.result)
    told = capsys.readouterr().out
    assert (
        f"{SRE} leads (relevance high, confidence 0.82;" in told
        and "claims it" not in told
        and "Result: In full" in told
    )


def test_everything_is_shown_where_it_is_asked_for(session: Play) -> None:
    told = whole(of(session))
    assert (
        "depth extended: 4 candidates" in told
        and "domains overlap" in told
        and "it names no action, or a general one (fix, improve)" in told
    )
    assert f"      {SRE}: fits the task well, a likely lead" in told
    assert f"{SRE} claims it (relevance high, confidence 0.82): We should measure before we optimize." in told
    assert f"defers to {IMPL} (the code once the bottleneck is known)" in told
    assert f"{SEC} passes: No secrets." in told
    assert f"{IMPL} challenges {ARCH} (exclude): It is no redesign." in told
    assert "(explicit, 100 tokens)" in told
    assert f"not {SEC}: No secrets." in told
    assert "completed: profiling" in told and "remaining: the queries" in told
    assert 'files.edit_file {"path": "api.py"}' in told
    assert 'files.write_file {"path": "prof.py"}' in told and "+profile()" in told, "support's are shown as the lead's"


def test_explain_shows_the_coordination_with_its_cost(session: Play) -> None:
    told = "\n".join(explain.words(of(session)))
    assert "Coordination:" in told and f"{SRE} claims it (relevance high, confidence 0.82)" in told
    assert "Tokens of the coordination: 100 (intake 100, claims 0, challenges 0, consensus 0)" in told
    assert "of execution 400, of reviews 100" in told
    assert f"Round 4: {IMPL}, done, 2 calls of tools." in told and f"  {AUDITOR}: approved" in told
    found = explain.figures(of(session))
    assert found["trace"].token_usage.total == 100
    assert {s["seat"] for s in found["seats"]} >= {"helper", SRE, IMPL, AUDITOR}


def test_explain_tells_of_tools_support_reviews_and_turns_that_failed() -> None:
    play = Play().working()
    play.reply(SRE, wants(IMPL, "profile the loop"))
    play.reply(IMPL, helps("The loop takes 80 %.", calls=(PROFILE,), diff=THEIRS))
    play.reply(SRE, None, error="model unreachable")
    play.reply(SRE, done(calls=(CALL,)))
    play.reply(AUDITOR, REVISE)
    told = "\n".join(explain.words(of(play)))
    assert f"{IMPL} gives support: profile the loop" in told and "The loop takes 80 %." in told
    assert 'files.write_file {"path": "prof.py"}' in told and f"{SRE}: 1 call of tools: 1 edit_file" in told
    (finding,) = msgspec.convert(play.bodies("review")[0]["findings"], list[Finding])
    assert f"{AUDITOR} reviews: asks for a revision" in told and finding.description in told
    assert f"{SRE}, round 2 (work, attempt 1): model unreachable." in told


def test_the_result_says_who_finished_and_what_was_deliberated(session: Play) -> None:
    told = brief(of(session))
    assert f"  {SRE} leads" in told and "By: " not in told, "it is told once"
    assert f"Finished by: {IMPL}" in told
    play = Play({"deliberation": "maci"}).working()
    play.reply(SRE, blocked("Postgres or SQLite?"))
    play.child_ends(outcome={"answer": "Postgres"})
    play.reply(SRE, done())
    play.approve()
    told = brief(of(play))
    assert "Deliberated: the maci session ended" in told and told.count("Postgres") >= 2
    assert "Finished by" not in told, "it is the one that led from the start"


def test_turns_that_are_taken_back_are_told_in_words() -> None:
    body = raw({"seat": f"{SRE}\x1b[2J", "turns": ["1-0"]})
    post = Post(
        session="s1", channel="control", k=0, n=0, transition=0, round=0, at_ns=0, seat="", kind="withdrawn", body=body
    )
    ((_, told),) = Teller().lines(post)
    assert told == f"  {SRE}\\x1b[2J: 1 turn withdrawn"


def test_a_cancelled_session_says_why_as_text() -> None:
    body = raw({"reason": "cancelled", "certificate": {"by": "owner", "why": "enough\x1b[2J"}, "converged": False})
    post = Post(
        session="s1", channel="control", k=0, n=0, transition=0, round=0, at_ns=0, seat="", kind="stop", body=body
    )
    told = [text.strip() for _, text in Teller().lines(post)]
    assert told[1:] == ["owner: enough\\x1b[2J"]


def test_a_task_has_no_score_below_it() -> None:
    scene, teller = Scene(), Teller()
    for entry in of(Play().working()).entries:
        scene.entry(entry)
    for post in records.posts_of(of(Play().working())):
        list(teller.lines(post))
    foot = scene.foot(teller.presenter)
    assert "score" not in foot and foot.endswith(" call")
    scene = Scene()
    for post in records.posts_of(of(Play().working())):
        scene.post(post)
    assert "score" not in scene.foot(teller.presenter), "whoever may not read the log sees the same"


def test_silent_candidates_are_named() -> None:
    play = Play().match({SRE: 0.6, IMPL: 0.5}, overlap=True)
    play.claims(SRE, "high", 0.8)
    play.expire()
    assert f"silent: {IMPL}" in whole(of(play))


def test_an_override_and_what_a_human_chose_are_said() -> None:
    play = Play({"expert": QA}).match({SRE: 0.95})
    assert f"{QA} leads (a human chose it)" in brief(of(play)) and f"a human chose {QA}" in brief(of(play))
    play.decide("expert", SRE, "it is about latency")
    assert f"{QA} hands over to {SRE}: it is about latency" in brief(of(play))


def test_what_two_reviewers_say_alike_is_told_once(session: Play) -> None:
    same = {"severity": "suggestion", "description": "Have it judged."}
    own = {"severity": "minor", "description": "Rename it.", "location": "api.py:3"}
    play = Play().match({SRE: 0.6, IMPL: 0.5}, overlap=True).claims(SRE, "high", 0.8).passes(IMPL)
    play.reply(SRE, done("Seen."))
    seats = [seat for seat, kind in play.asked() if kind == "review"]
    assert len(seats) > 1
    for seat, findings in zip(seats, ([same], *([same, own],) * 9), strict=False):
        play.reply(seat, msgspec.convert({"verdict": "approved", "findings": findings}, Review))
    shown = brief(of(play))
    assert shown.count("suggestion: Have it judged.") == 1, "as the first one says it"
    assert f"{seats[1]} reviews: approved\n      minor (api.py:3): Rename it.\n" in shown
    assert f"      says the same as {seats[0]}: suggestion\n" in shown
    assert shown.count("Rename it.") == 1 and "says the same" not in brief(of(session))


def test_a_question_to_a_human_says_how_to_answer_it(capsys: pytest.CaptureFixture[str]) -> None:
    play = Play({"item_s": 300.0}).working()
    play.reply(SRE, blocked("Postgres or SQLite?"))
    told = brief(of(play))
    assert "item 1 (blocked) waits for a human: Postgres or SQLite?" in told
    assert "answer: free text; without one in 5 min: Go on with what you know" in told
    assert 'parley inbox answer s1 1 "..."' in told
    view = QuietView()
    view.located(" --state here")
    for post in records.posts_of(of(play)):
        view.post(post)
    assert 'parley inbox answer s1 1 "..." --state here' in capsys.readouterr().err
    play.decide("1", "Postgres", "we have it")
    assert "item 1: client answered Postgres (we have it)" in brief(of(play))


def test_a_default_that_held_is_no_answer() -> None:
    play = Play({"item_s": 1.0}).working()
    play.reply(SRE, blocked())
    play.expire()
    assert "item 1: nobody answered; the default holds: Go on with what you know" in brief(of(play))


def test_a_session_beneath_is_told_as_it_begins_and_as_it_ends() -> None:
    play = Play({"deliberation": "maci"}).working()
    play.reply(SRE, blocked("Postgres or SQLite?"))
    child = next(iter(play.session.children))
    assert f"a maci session decides: Postgres or SQLite?\n      session {child}" in brief(of(play))


def test_who_is_asked_has_a_worker_also_where_it_was_invited_later() -> None:
    play = Play().working()
    scene = Scene()
    scene.workers(frozenset({"helper", "expert_sre"}))
    for entry in of(play).entries:
        scene.entry(entry)
    assert scene.shown(SRE) == "queued"
    scene.workers(frozenset({"helper"}))
    assert scene.shown(SRE) == "no worker"


def test_of_an_experts_turn_no_more_is_counted_than_was_booked() -> None:
    play = Play({"max_input_tokens": 900, "max_output_tokens": 100}, metered=True).working()
    play.reply(SRE, done(), usage=Usage(input_tokens=10**9, output_tokens=10, calls=1))
    scene = Scene()
    for entry in of(play).entries:
        scene.entry(entry)
    used = play.session.ledger.used()
    assert (scene.tokens, scene.calls) == (used.tokens, used.calls) and used.tokens < 20_000
    assert {f.seat: f.flags for f in Turns(play.entries).flagged} == {"helper": (), SRE: ("overstated",)}


def test_the_page_has_the_coordination_the_reviews_and_the_diff(session: Play) -> None:
    found = Reader("\n".join(page.html(of(session))))
    for wanted in (
        f"{SRE} leads (relevance high, confidence 0.82;",
        "Depth extended: 4 candidates", f"{SRE} 0.70 0.70", f"{SEC} passes: No secrets.",
        f"{IMPL} challenges {ARCH} (exclude): It is no redesign.", f"{AUDITOR}, iteration 1: revision needed",
        "files.edit_file", "-slow() +fast()", "In full: The leak is closed.",
    ):  # fmt: skip
        assert wanted in found.words, wanted
    assert found.tags.count("table") == found.tags.count("caption")
    assert "converged confidence" not in found.words


def test_the_page_names_who_leads_in_the_end() -> None:
    play = Play().match({SRE: 0.6, IMPL: 0.6}).claims(SRE).claims(IMPL)
    play.challenges(SRE, objection(SRE, IMPL, "exclude")).challenges(IMPL, objection(IMPL, SRE, "exclude"))
    play.decide("1", SRE)
    assert [c["outcome"]["lead"]["agent_id"] for c in play.bodies("consensus")] == [IMPL, SRE]
    words = Reader("\n".join(page.html(of(play)))).words
    assert f"Coordination {SRE} leads (a human chose it)" in words, words


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


# ---------------------------------------------------------------- whatever they say


def test_whatever_experts_say_stays_text() -> None:
    evil = ALL
    play = Play({"item_s": 300.0})
    play.match({SRE: 0.6, ARCH: 0.5, IMPL: 0.45, SEC: 0.4}, overlap=True)
    play.claims(SRE, "high", 0.82, claim=evil[:500], topics={IMPL: evil[:100]}, defers_to=(IMPL,))
    play.claims(IMPL, "low", claim=evil[:500]).claims(ARCH, "low").passes(SEC, evil[:500])
    play.challenges(SRE, objection(SRE, ARCH, "exclude", evil[:500])).challenges(IMPL).challenges(ARCH)
    call = ToolCall(server=evil[:50], tool=evil[:50], arguments=evil[:500], ok=False)
    play.reply(SRE, Work(outcome="done", summary=evil[:500], output=evil, diff=f"+{evil}", calls=(call,)))
    finding = {"severity": "major", "description": evil[:500], "location": evil[:100], "suggested_fix": evil[:100]}
    for seat in [s for s, _ in play.asked()]:
        play.reply(seat, msgspec.convert({"verdict": "blocked", "findings": [finding]}, Review))
    play.decide("expert", IMPL, evil[:300])
    record = of(play)
    for text in (
        whole(record),
        brief(record),
        "\n".join(explain.words(record)),
        "\n".join(transcript.markdown(record)),
    ):
        assert "\x1b" not in text and "\u202e" not in text and "\\x1b" in text
    html = "".join(page.html(record))
    assert {"script", "img", "iframe", "object", "svg"} & set(Reader(html).tags) == set()


def test_a_post_by_itself_is_told_too() -> None:
    body = Supported(agent_id=IMPL, sub_task="look", output="Seen.")
    from tests.protocols.maci.test_view import posted

    assert [t for _, t in Teller().lines(posted("support", body))] == [
        f"  {IMPL} gives support: look", "      Seen.",
    ]  # fmt: skip


def test_flags_of_replies_that_are_hidden_are_hidden_with_them() -> None:
    def told(brief: bool) -> list[str]:
        turns = Turns()
        turns.flagged += [
            Flagged(transition=1, seat="sre", kind=kind, round=0, flags=("injection",)) for kind in ("words", "work")
        ]
        teller = Teller(face_of("madp").present(), turns, brief=brief)
        posts = [
            Post(
                session="s", channel="public", k=n, n=n, transition=n, at_ns=0, kind="closed", round=0,
                body=raw({}),
            )
            for n in (1, 2)
        ]  # fmt: skip
        return [text for post in posts for _, text in teller.lines(post) if "flags" in text]

    assert told(brief=True) == ["  sre (work): flags of this reply: injection"]
    assert told(brief=False) == [f"  sre ({kind}): flags of this reply: injection" for kind in ("words", "work")]
