"""What a task says, asks people and is given by them, and what is counted of it: its view, its trace, its indicators,
options of the command line, questions that wait, and the protocol that argues about what blocks it."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley import inbox, sessions, settings
from parley.client.errors import BadInput
from parley.client.opening import whole_settings
from parley.client.people import inbox as questions
from parley.client.people.inbox import InboxItem
from parley.client.protocols.madp import task_files
from parley.client.records import Record
from parley.client.rendering import documents, explain
from parley.client.view.fold import Fold
from parley.coordinator.admission import check_future_child
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Inadmissible
from parley.planned.plan import plan_of
from parley.schemas import log
from parley.schemas.post import Post
from parley.schemas.protocols.madp.messages import Worded
from parley.schemas.protocols.madp.trace import CoordinationTrace
from parley.schemas.session import DecideItem, Document, OpenSession
from parley.schemas.tools import ToolCall
from parley.schemas.turn import Usage
from parley.schemas.wire import encode
from parley.sessions import NoSession
from parley.settings import load
from parley.stack.announce import expected_announcements
from parley.stack.rows import rows_of
from tests.client import shown
from tests.outcomes.played import counted, get
from tests.parley.support import Front
from tests.protocols.maci import record as maci_record
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
    matched,
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
    found = matched({SRE: 0.7, ARCH: 0.6, IMPL: 0.5, SEC: 0.4}, overlap=True, clear=False)
    play.reply("helper", found, usage=TOKENS)
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
    with pytest.raises(BadInput, match="ran maci; a coordination trace is madp's"):
        sessions.export(maci_record.record(), "trace")


MATCHED = Usage(input_tokens=200, output_tokens=50, calls=1)


def ended(play: Play) -> Play:
    """Cancelled, where it is not over."""
    if not play.session.closed:
        play.event(log.Cancelled(author="owner"))
    return play


def test_tokens_seconds_and_depth_are_counted_at_the_first_assignment() -> None:
    play = Play(metered=True, helper_metered=True)
    play.reply("helper", matched({SRE: 0.95}), usage=MATCHED)
    play.reply(SRE, done())
    play.approve()
    m = counted(play)
    assert get(m, "tasks_total", depth="instant", how="implicit") == 1
    assert get(m, "coordination_tokens_sum", depth="instant") == 250, "the work is none of it"
    assert get(m, "coordination_seconds_bucket", depth="instant", le="0.01") == 1
    assert get(m, "coordination_seconds_bucket", depth="instant", le="0.005") == 0


def test_revisions_are_those_of_tasks_that_were_reviewed() -> None:
    revised = Play().working()
    revised.reply(SRE, done())
    revised.reply(AUDITOR, REVISE)
    revised.reply(SRE, done())
    revised.reply(AUDITOR, APPROVED)
    unreviewed = Play().working(reviewers=())
    unreviewed.reply(SRE, done())
    unheard = Play().working()
    unheard.reply(SRE, done())
    m = counted(revised, unreviewed, ended(unheard))
    assert (get(m, "review_revisions_count"), get(m, "review_revisions_sum")) == (1, 1)
    assert get(m, "review_revisions_bucket", le="0.0") == 0


def test_overrides_are_counted_by_task_against_all_tasks() -> None:
    changed = Play().working()
    changed.decide("expert", IMPL)
    changed.decide("expert", SRE)
    changed.reply(SRE, done())
    changed.approve()
    plain = Play().working()
    plain.reply(SRE, done())
    plain.approve()
    m = counted(changed, plain)
    assert get(m, "overrides_total") == 1
    assert get(m, "tasks_total", depth="instant", how="implicit") == 2
    assert get(m, "tasks_ended_total") == 2


def test_a_task_that_was_overridden_or_handed_over_was_wrongly_routed_and_a_named_lead_is_no_selection() -> None:
    kept, handed, changed = (Play().working() for _ in range(3))
    handed.reply(SRE, hands(IMPL))
    handed.reply(IMPL, done())
    changed.decide("expert", IMPL)
    changed.reply(IMPL, done())
    kept.reply(SRE, done())
    for play in (kept, handed, changed):
        play.approve()
    named = ended(Play({"expert": IMPL}).match({SRE: 0.95}))
    m = counted(kept, handed, changed, named)
    assert get(m, "selections_total", by="override", verdict="right") == 1
    assert get(m, "selections_total", by="override", verdict="wrong") == 2


def test_items_are_opened_and_closed_by_a_human_or_their_default() -> None:
    answered, left = Play({"item_s": 5.0}).working(), Play({"item_s": 5.0}).working()
    answered.reply(SRE, blocked())
    answered.decide("1", "Postgres")
    left.reply(SRE, blocked())
    left.expire()
    m = counted(answered, left)
    assert get(m, "items_opened_total", kind="blocked") == 2
    assert (get(m, "items_closed_total", by="human"), get(m, "items_closed_total", by="default")) == (1, 1)
    assert get(m, "escalations_total", kind="blocked") == 0, "the tasks have not ended"
    assert get(counted(ended(answered), ended(left)), "escalations_total", kind="blocked") == 2


FALSE = "The query is cached. All reviewers approved it."


def test_work_that_tells_of_reviews_that_were_not_goes_back_once() -> None:
    p = Play().working()
    p.reply(SRE, done(FALSE))
    assert p.asked() == [(SRE, "work")] and p.ask(SRE).attempt == 2
    assert p.ask(SRE).error == (
        "work.output: it says that all reviewers approved; counted was: nobody has reviewed it;"
        " tell of reviews what was counted, or nothing"
    )
    p.reply(SRE, done("The query is cached."))
    p.approve()
    assert p.result.stop.reason == "reviewed" and "departs" not in p.outcome


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Approved by all reviewers.", False),
        ("3 of 3 reviewers approved this.", False),
        ("Alle Gutachter stimmten zu.", False),
        ("All findings of the reviewers are met.", True),
        ("If all reviewers approve, it ships.", True),
    ],
)
def test_what_work_may_tell(text: str, told: bool) -> None:
    """Why a first attempt at the work goes back, or that it does not."""
    p = Play().working()
    p.reply(SRE, done(text))
    if told:
        assert p.asked() == [(AUDITOR, "review")]
    else:
        assert "counted was: nobody has reviewed it" in p.ask(SRE).error


NOW_NS = 1_700_000_000_000_000_000


@pytest.fixture
def asked() -> Fold:
    play = Play({"max_reviews": 0}).working()
    play.reply(SRE, done())
    for seat in [s for s, _ in play.asked()]:
        play.reply(seat, REVISE)
    return questions.fold_of_items("madp", "s1", play.session.posts)


def test_a_choice_that_it_does_not_have_is_named_with_those_it_has(asked: Fold) -> None:
    questions.check(asked, "1", "emit")
    with pytest.raises(BadInput, match=r"got 'ship'; item 1 \(review_limit\) takes emit, revise, reject") as found:
        questions.check(asked, "1", "ship")
    assert found.value.field == "choice"


def test_each_is_told_with_the_command_that_answers_it() -> None:
    found = InboxItem(
        session="s1", task="Improve \x1b[31mit", item="1", kind="review_limit", question="What now?",
        choices=("emit", "revise"), default="emit", deadline_ns=NOW_NS, seconds_left=7_200.0,
    )  # fmt: skip
    told = list(inbox.inbox_lines([found], " --state here"))
    assert told[0] == "s1: Improve \\x1b[31mit"
    assert told[2].strip() == "answer: emit, revise; without one in 2 h: emit"
    assert told[3].strip() == "parley inbox answer s1 1 emit --state here"
    assert list(inbox.inbox_lines([])) == ["nothing waits for a human"]


class Played:
    """A client of a session that is played: what it decides, the machine is told."""

    def __init__(self, play: Play) -> None:
        self.play = play

    async def inbox(self, sid: str) -> tuple[Post, ...]:
        return self.play.session.posts

    async def decide(self, sid: str, decision: DecideItem) -> None:
        self.play.decide(decision.item, decision.choice, decision.note)


async def test_what_waits_is_shown_until_it_is_answered() -> None:
    play = Play().working()
    play.reply(SRE, blocked())
    client = Played(play)
    (item,) = await questions.waiting(client, "s1")  # type: ignore[arg-type]
    assert (item.session, item.item, item.kind, item.choices) == ("s1", "1", "blocked", ())
    await questions.answer(client, "s1", "1", "Postgres", "It is there already.")  # type: ignore[arg-type]
    assert await questions.waiting(client, "s1") == []  # type: ignore[arg-type]
    assert play.asked() == [(SRE, "work")] and "Postgres" in play.brief(SRE)["advice"]


def test_a_folder_without_a_stack_has_no_items_and_takes_no_answer(tmp_path: Path) -> None:
    found = settings.load(given={"state": str(tmp_path / "none")})
    assert inbox.of(found, "") == []
    with pytest.raises(NoSession, match="there is no session abc"):
        inbox.decide(found, "abc", "1", "emit", "")


def test_a_conversation_is_json_lines_of_role_and_text(tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    file.write_text('{"role": "user", "text": "It is slow."}\n\n{"role": "assistant", "text": "Since when?"}\n')
    assert task_files.conversation(file) == [
        {"role": "user", "text": "It is slow."}, {"role": "assistant", "text": "Since when?"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"role": "user", "text": "a"}\n{"role": "user"}', r"line 2: .*missing required field `text`"),
        ('{"role": "system", "text": "a"}', r"line 1: role: got 'system', expected user or assistant"),
        ("\n", "has no message"),
    ],
)
def test_a_line_that_is_no_message_is_named(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "said.jsonl"
    file.write_text(text)
    with pytest.raises(BadInput, match=why) as found:
        task_files.conversation(file)
    assert found.value.field == "conversation"


def test_snippets_are_texts(tmp_path: Path) -> None:
    good, bad, long = tmp_path / "a.py", tmp_path / "b.bin", tmp_path / "c.py"
    good.write_text("def a(): ...\n")
    bad.write_bytes(b"\xff\xfe")
    long.write_text("x" * 50_001)
    assert task_files.snippets([good]) == ["def a(): ...\n"]
    for path, why in ((bad, "is not UTF-8 text"), (long, "50,001 characters, the limit is 50,000"),
                      (tmp_path / "none.py", "cannot read")):  # fmt: skip
        with pytest.raises(BadInput, match=why):
            task_files.snippets([path])


@pytest.mark.slow
def test_bad_values_are_refused_before_anything_starts(tmp_path: Path) -> None:
    front = Front(tmp_path)
    for options, why in (
        (("--expert", "Not An Id"), "it is no expert's id"),
        (("--folder", "nowhere"), "nowhere is not a folder"),
        (("--apply",), "--apply writes the result into --folder"),
        (("--files", ""), "--files: "),
        (("--file", ""), "--file: "),
    ):
        code, out, err = front.run("ask", "--protocol", "madp", "Fix it", *options)
        assert code == 2 and why in err and out == "", (options, err)
    assert not front.state.exists() and front.left() == []


def settings_of(protocol: str = "madp", **madp: Any) -> Any:
    return load(None, {"protocol": protocol, "madp": madp})


def test_the_stack_of_a_task_has_the_workers_of_what_deliberates() -> None:
    def queues(**madp: Any) -> set[str]:
        found = [row.queue for row in plan_of(settings_of(**madp)).rows]
        assert len(found) == len(set(found)), "nobody twice"
        return set(found)

    own = {row.queue for row in rows_of("madp")}
    assert queues() == queues(deliberation="") == own
    for protocol in ("consensus", "critic", "maci", "competition"):
        assert queues(deliberation=protocol) == own | {row.queue for row in rows_of(protocol)}
    five = queues(deliberation="consensus", deliberation_settings={"panel": 5})
    assert five == own | {row.queue for row in rows_of("consensus", 5)}
    other = {row.queue for row in plan_of(settings_of("critic", deliberation="consensus")).rows}
    assert other == {row.queue for row in rows_of("critic")}


def check(protocol: str, settings: dict[str, Any], workers: bool = True, texts: tuple[str, ...] = ()) -> None:
    given = {"deliberation": protocol, "deliberation_settings": settings}
    opening = OpenSession(question="rotate the leaked key", protocol="madp", settings=whole_settings("madp", given))
    documents = tuple(
        Document(id=sha256(text.encode()).hexdigest(), name=f"{i}.md", text=text, holders=("expert",))
        for i, text in enumerate(texts)
    )
    there = [*expected_announcements(rows_of("madp")), *(expected_announcements(rows_of(protocol)) if workers else ())]
    check_future_child(
        PROTOCOLS, PROTOCOLS["madp"], msgspec.structs.replace(opening, documents=documents), tuple(there)
    )


@pytest.mark.parametrize("workers", [True, False])
@pytest.mark.parametrize(
    ("protocol", "settings", "texts", "field", "why"),
    [
        ("maci", {}, (), "madp.deliberation", "got 'maci'.*evidence: got none that arguments may cite.*give some"),
        ("maci", {"outcome": ["a"]}, ("x",), "madp.deliberation_settings", "did you mean maci.outcomes"),
        ("consensus", {"panel": 1}, (), "madp.deliberation_settings", "consensus.panel"),
        ("competition", {"max_output_tokens": 0}, (), "madp.deliberation_settings", "competition.max_output_tokens"),
    ],
)
def test_what_would_be_refused_when_it_is_needed_is_refused_at_the_opening(
    protocol: str, settings: dict[str, Any], texts: tuple[str, ...], field: str, why: str, workers: bool
) -> None:
    with pytest.raises(Inadmissible, match=why) as refused:
        check(protocol, settings, workers, texts)
    assert refused.value.field == field and not refused.value.worker
