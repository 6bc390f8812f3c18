"""`parley ask --protocol critic`: three processes argue over documents, and what a person reads of it."""

import json
import re
from typing import Any

import pytest

from parley.client.protocols.critic.show import SHOW
from parley.client.view.fold import of_result
from parley.schemas.post import Post
from parley.schemas.wire import decode, encode, raw
from parley.stack.rows import rows_of
from parley.testing.in_memory import Played
from tests.client import shown
from tests.parley.support import ROOT, Front
from tests.protocols.critic.play import Play
from tests.protocols.critic.simulate import example, run

ARCHIVE = ROOT / "examples" / "critic-archive"
QUESTION = (ARCHIVE / "question.txt").read_text().strip()


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Front:
    return Front(tmp_path_factory.mktemp("critic"))


@pytest.fixture(scope="module")
def asked(front: Front) -> dict[str, Any]:
    """One session, asked with --json."""
    code, out, err = front.run(
        "ask", QUESTION, "--protocol", "critic", "--evidence", str(ARCHIVE / "evidence"), "--json"
    )  # fmt: skip
    assert (code, err) == (3, "")
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.slow
def test_ask_ends_to_end_with_three_seats(front: Front, asked: dict[str, Any]) -> None:
    assert asked["stop"]["reason"] == "unsettled" and asked["stop"]["converged"] is False
    assert set(asked["usage"]["by_seat"]) == {"answerer", "critic", "judge"}
    assert asked["outcome"]["answer"] == "Tape" and "informational" in asked["outcome"]["label_note"]
    assert asked["outcome"] == run(*example("critic-archive")).result.outcome, "as in one process"
    front.assert_nothing_left()


@pytest.mark.slow
def test_it_is_replayed_and_explained(front: Front, asked: dict[str, Any]) -> None:
    code, out, err = front.run("replay", asked["session"])
    assert code == 0, err
    code, out, err = front.run("explain", asked["session"], "all")
    assert code == 0, err
    assert "repeats objection 1" in out
    assert "informational" in out and "majority" not in out


def test_the_rows_of_each_protocol() -> None:
    assert [r.queue for r in rows_of("critic", copies=2)] == ["answerer", "critic", "judge"]
    assert {r.copies for r in rows_of("critic", copies=2)} == {2}
    assert [r.queue for r in rows_of("consensus", 2)] == ["panelist_1", "panelist_2", "analyst"]


# ---------------------------------------------------------------- what is shown


@pytest.fixture(scope="module")
def archive() -> Played:
    return run(*example("critic-archive"), measure_bias=True)


def told(ended: Played) -> list[str]:
    return shown.posts(ended.posts)


def test_every_post_is_shown_in_words(archive: Played) -> None:
    lines = told(archive)
    kinds = {p.kind for p in archive.posts if p.channel == "public"}
    assert kinds == set(SHOW.kinds) - {"signature", "countersignature"}
    assert not any(re.search(r"\[public\]|\{\"", text) for text in lines)
    assert any("By the evidence alone" in text for text in lines)
    assert any("Objection 2 is answered by: “On objection 2, " in text for text in lines)
    assert any("69.6 of 100, the opposite order" in text for text in lines)
    assert any(
        re.search(r"confidence 94 of 100 \[high;.*answers objection 1; answers objection 2", text) for text in lines
    )


def test_a_duplicate_is_shown_as_a_pair(archive: Played) -> None:
    lines = told(archive)
    at = next(i for i, text in enumerate(lines) if "repeats objection 1" in text)
    assert lines[at + 1].strip().startswith("Now:") and "In 2023 one tape drive failed" in lines[at + 1]
    assert lines[at + 2].strip().startswith("Before:") and "One tape drive failed in 2023" in lines[at + 2]


def test_the_result_has_its_label_and_what_is_open() -> None:
    result = run(*example("critic-archive"), round_limit=2).result
    text = shown.ended(result)
    assert "called low (informational: a judge's confidence is no guarantee that the answer is right)" in text
    assert "2 objections open" in of_result(result).dissent and "consensus" not in text


def posted(kind: str, body: Any) -> Post:
    return Post(
        session="s", channel="public", k=0, n=0, transition=0, at_ns=0, seat="critic", kind=kind, round=1,
        body=raw(body),
    )  # fmt: skip


def test_hostile_text_stays_text() -> None:
    body = {"number": 1, "objection": "\x1b[2J gone", "citations": []}
    post = posted("objection", body)
    assert shown.posts([post]) == ["  Critic, objection 1", "      \\x1b[2J gone"]


def test_an_objection_is_shown_whole_and_with_what_was_computed() -> None:
    body = {"number": 1, "objection": "it is slow, " * 60 + "and wet", "checked": "12 / 3 = 4", "citations": []}
    lines = shown.posts([posted("objection", body)])
    assert lines[1].endswith("and wet") and lines[2].strip() == "It computed: 12 / 3 = 4"


@pytest.mark.parametrize("kind", sorted(SHOW.kinds))
def test_a_post_without_its_fields_is_shown_all_the_same(kind: str) -> None:
    post = posted(kind, {})
    assert shown.posts([decode(encode(post), Post)])


def test_a_worthless_objection_is_shown_as_closed() -> None:
    play = Play({"round_limit": 1})
    play.round("you are a fool", 100)
    play.verdict()
    lines = shown.posts(play.session.posts)
    assert any("objection 1: there is nothing to it, closed" in text for text in lines)
    (closed,) = shown.part(shown.card(play), "objections").lines
    assert closed.startswith("nothing to it, 1 (") and closed.endswith(": you are a fool")
