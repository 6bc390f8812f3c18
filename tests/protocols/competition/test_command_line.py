"""Who is given what of a competition that was played on a real bus."""

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.parley.marked_model import MARK
from tests.parley.support import ROOT, Front, until
from tests.protocols.competition.play import exchange, free, small, speech
from tests.support.debater import panel

pytestmark = [pytest.mark.slow, pytest.mark.timeout(150)]

EXAMPLE = ROOT / "examples" / "competition"
FORMS = ("jsonl", "json", "markdown", "html")
SEATS = ("pro_1", "pro_2", "con_1", "con_2", "judge")


class Bus:
    """A stack that stays, and one finished competition on it."""

    def __init__(self, front: Front, url: str, keys: Path, sid: str, live: str) -> None:
        self.front, self.url, self.keys, self.sid, self.live = front, url, keys, sid, live

    @property
    def command(self) -> tuple[str, ...]:
        question = (EXAMPLE / "question.txt").read_text().strip()
        marked = str(self.front.folder / "marked.yaml")
        return ("ask", question, "--config", marked, "--evidence", str(EXAMPLE / "evidence"))

    def run(self, user: str, *command: str) -> tuple[int, str, str]:
        return self.front.run(*command, "--nats", self.url, "--creds", str(self.keys / f"{user}.json"))

    def export(self, user: str, form: str, *more: str) -> str:
        code, out, err = self.run(user, "sessions", "export", self.sid, "--format", form, *more)
        assert code == 0, err
        return out


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bus]:
    front = Front(tmp_path_factory.mktemp("competition"))
    agenda = (
        speech("pro_1", 200),
        exchange("pro_2", "con_1", "con_2"),
        free(60, 100, mode="concurrent", bid_seconds=10),
    )
    rules = small(*agenda, confer=1, summary=True)
    (front.folder / "rules.yaml").write_text(json.dumps(rules))
    seated = panel(front.folder, "tests.parley.marked_model:make", SEATS)
    config = {"protocol": "competition", "competition": {"format": str(front.folder / "rules.yaml")}}
    (front.folder / "marked.yaml").write_text(json.dumps(config))
    stack = front.start("up", "--json", "--config", str(front.folder / "marked.yaml"), "--panel-file", str(seated))
    try:
        assert stack.stdout is not None
        running = json.loads(stack.stdout.readline())
        keys = front.state / "keys"
        found = Bus(front, running["url"], keys, "", "")
        code, found.live, err = found.run("client", *found.command, "--plain")
        assert code == 0, err
        found.sid = re.findall(r"session (\w+)", found.live)[0]
        yield found
    finally:
        stack.terminate()
        stack.communicate(timeout=20)
        until(lambda: not front.left(), "something is left")


def marked(text: str) -> set[str]:
    """Whose words that are not for everybody stand in a text."""
    found = re.findall(rf"{MARK} ([a-z]\w+|[A-Z]\w+ \d)", text)  # an id, or the name by which it is shown
    return {name.lower().replace(" ", "_") for name in found}


TEAM = {"pro": {"pro_1", "pro_2"}, "con": {"con_1", "con_2"}}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("user", ["owner", "client"])
def test_without_all_no_word_of_a_team_or_of_the_judges_notes_is_exported(bus: Bus, user: str, form: str) -> None:
    text = bus.export(user, form)
    assert MARK not in text
    assert "free tram belongs" in text or "buses" in text, "what was said in public is there"


@pytest.mark.parametrize(("user", "whose"), [("pro_2", TEAM["pro"]), ("con_1", TEAM["con"]), ("judge", {"judge"})])
def test_a_seats_credentials_export_its_own_channels_alone(bus: Bus, user: str, whose: set[str]) -> None:
    for form in FORMS:
        text = bus.export(user, form)
        assert marked(text) == whose, form
    posts = [json.loads(line) for line in bus.export(user, "jsonl").splitlines()[1:]]
    own = {"judge": {"judge_notes", "scores"}}.get(user, {f"team_{user[:3]}"})
    assert {p["channel"] for p in posts} == {"public", "control", *own}
    assert all(p["n"] < q["n"] for p, q in pairwise(posts))


@pytest.mark.parametrize("user", ["client", "pro_1", "judge"])
def test_all_is_for_owners(bus: Bus, user: str) -> None:
    code, out, err = bus.run(user, "sessions", "export", bus.sid, "--all")
    assert (code, out) == (2, "") and "only an owner's credentials see every channel" in err
    code, out, err = bus.run(user, "explain", bus.sid)
    assert code == 2 and MARK not in err


def test_a_record_is_replayed_and_posts_are_none(bus: Bus, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    whole.write_text(bus.export("owner", "jsonl", "--all"))
    part.write_text(bus.export("owner", "jsonl"))
    code, out, err = bus.front.run("replay", str(whole))
    assert code == 0 and "recompute" in out
    code, out, err = bus.front.run("replay", str(part))
    assert code == 2 and "sessions export --all" in err
    code, out, err = bus.front.run("sessions", "show", str(whole))
    assert code == 0 and MARK not in out and "are left out (--all shows them)" in out
    code, out, err = bus.front.run("sessions", "export", str(whole), "--format", "json")
    found: dict[str, Any] = json.loads(out)
    assert "entries" not in found and MARK not in out
    held = {d["name"]: bool(d["text"]) for d in found["opened"]["documents"]}
    assert held["con/budget-audit.md"] is False and held["city-survey.md"] is True


def test_a_follow_up_is_told_no_such_word(bus: Bus) -> None:
    marked = str(bus.front.folder / "marked.yaml")
    command = ("ask", "And at night?", "--config", marked, "--continue", bus.sid, "--json")
    code, out, err = bus.run("owner", *command)
    assert code == 0, err
    sid = json.loads(out)["session"]
    code, out, err = bus.run("owner", "sessions", "show", sid, "--all", "--json")
    (document,) = [d for d in json.loads(out)["opened"]["documents"] if d["name"].startswith("previous/")]
    assert MARK not in document["text"] and "wins: points" in document["text"]
