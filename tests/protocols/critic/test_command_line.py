"""`parley ask --protocol critic`: three processes argue over documents, and what a person reads of it."""

import json
from typing import Any

import pytest

from parley.schemas.post import Post
from parley.schemas.wire import raw
from parley.testing.in_memory import Played
from tests.client import shown
from tests.parley.support import ROOT, Front
from tests.protocols.critic.simulate import example, run
from tests.support.debater import CRITIC, panel

ARCHIVE = ROOT / "examples" / "critic-archive"
QUESTION = (ARCHIVE / "question.txt").read_text().strip()


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Front:
    return Front(tmp_path_factory.mktemp("critic"))


@pytest.fixture(scope="module")
def asked(front: Front) -> dict[str, Any]:
    """One session, asked with --json."""
    code, out, err = front.run(
        "ask", QUESTION, "--evidence", str(ARCHIVE / "evidence"), "--json", "--panel-file",
        str(panel(front.folder, seats=CRITIC, protocol="critic")),
    )  # fmt: skip
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.slow
def test_ask_ends_to_end_with_three_seats(front: Front, asked: dict[str, Any]) -> None:
    assert asked["stop"]["reason"] == "objections_exhausted" and asked["stop"]["converged"] is True
    assert set(asked["usage"]["by_seat"]) == {"answerer", "critic", "judge"}
    assert asked["outcome"]["answer"] == "Tape" and "informational" in asked["outcome"]["label_note"]
    assert asked["outcome"] == run(*example("critic-archive")).result.outcome, "as in one process"
    front.assert_nothing_left()


# ---------------------------------------------------------------- what is shown


@pytest.fixture(scope="module")
def archive() -> Played:
    return run(*example("critic-archive"), measure_bias=True)


def posted(kind: str, body: Any) -> Post:
    return Post(
        session="s", channel="public", k=0, n=0, transition=0, at_ns=0, seat="critic", kind=kind, round=1,
        body=raw(body),
    )  # fmt: skip


def test_hostile_text_stays_text() -> None:
    body = {"number": 1, "objection": "\x1b[2J gone", "citations": []}
    post = posted("objection", body)
    assert shown.posts([post]) == ["  Critic, objection 1", "      \\x1b[2J gone"]
