"""What people give to a task and are asked by it: options of the command line, questions that wait, and the protocol
that argues about what blocks it."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley import inbox, settings
from parley.client.errors import BadInput
from parley.client.opening import whole_settings
from parley.client.people import inbox as questions
from parley.client.people.inbox import InboxItem
from parley.client.protocols.madp import task_files
from parley.client.view.fold import Fold
from parley.coordinator.admission import check_future_child
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Inadmissible
from parley.planned.plan import plan_of
from parley.schemas.post import Post
from parley.schemas.session import DecideItem, Document, OpenSession
from parley.sessions import NoSession
from parley.settings import load
from parley.stack.announce import expected_announcements
from parley.stack.rows import rows_of
from tests.parley.support import Front
from tests.protocols.madp.play import REVISE, SRE, Play, blocked, done

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
        ("maci", {}, (), "madp.deliberation", "got 'maci'.*evidence: got none that the helper holds.*give some"),
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
