"""Questions to a human: told, checked, answered."""

import json
from pathlib import Path

import pytest

from parley import inbox, settings
from parley.client.errors import BadInput
from parley.client.people import inbox as questions
from parley.client.people.inbox import Waiting
from parley.client.view.fold import Fold
from parley.schemas.post import Post
from parley.schemas.session import DecideItem
from parley.sessions import NoSession
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


def test_an_item_that_is_not_there_is_named_with_those_that_are(asked: Fold) -> None:
    with pytest.raises(BadInput, match=r"item '7' does not exist; open are: 1 \(review_limit\); `expert`") as found:
        questions.check(asked, "7", "emit")
    assert found.value.field == "item"


def test_one_that_is_answered_is_closed() -> None:
    play = Play().working()
    play.reply(SRE, blocked())
    questions.check(questions.fold_of_items("", "s1", play.session.posts), "1", "anything at all")
    play.decide("1", "Postgres")
    with pytest.raises(BadInput, match="item '1' is closed; open are: none"):
        questions.check(questions.fold_of_items("", "s1", play.session.posts), "1", "SQLite")


def test_each_is_told_with_the_command_that_answers_it() -> None:
    found = Waiting(
        session="s1", task="Improve \x1b[31mit", item="1", kind="review_limit", question="What now?",
        choices=("emit", "revise"), default="emit", deadline_ns=NOW_NS, seconds_left=7_200.0,
    )  # fmt: skip
    told = list(inbox.words([found], " --state here"))
    assert told[0] == "s1: Improve \\x1b[31mit"
    assert told[2].strip() == "answer: emit, revise; without one in 2 h: emit"
    assert told[3].strip() == "parley inbox answer s1 1 emit --state here"
    assert list(inbox.words([])) == ["nothing waits for a human"]


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


@pytest.mark.slow
def test_where_nothing_ever_ran_nothing_waits_and_nothing_is_answered(tmp_path: Path) -> None:
    front = Front(tmp_path)
    assert front.json("inbox", "--json") == {"items": []}
    code, out, err = front.run("inbox", "answer", "abc", "1", "emit", "--json")
    assert code == 2 and "there is no session abc" in err
    assert json.loads(out)["error"]["field"] == "session" and "there is no session abc" in out


def test_what_was_answered_is_told_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    inbox.print_answered("s1", "1", "Post\x1b[2Jgres\nnow")
    assert capsys.readouterr().out == "session s1: 1 is answered with Post\\x1b[2Jgres now\n"
