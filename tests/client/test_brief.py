"""One screen by default: the shipped example of every protocol, and what a running round may still take."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest

from parley.client.protocols import face_of
from parley.client.show.live_seats import Scene
from parley.client.text import wrapped
from parley.schemas import log
from parley.schemas.wire import encode
from parley.show.view import PlainView
from tests.client.terminal import screen_of
from tests.parley.support import Front
from tests.protocols.consensus.play import Play, says
from tests.support.debater import panel
from tests.support.expert_model import expert_model

EXAMPLES = Path(__file__).parents[2] / "examples"
LINES, ROWS = 36, 45
"""Of a screen: as they are printed, and as a terminal of 80 columns wraps them."""


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Front]:
    panel(tmp_path)
    with expert_model() as env:
        yield Front(tmp_path, env=env)


TITLE = "add JWT authentication to the API"


def given(folder: str) -> tuple[str, ...]:
    """The question and the evidence of an example."""
    path = EXAMPLES / folder
    outcomes = path / "outcomes.txt"
    more = ("--outcomes", str(outcomes)) if outcomes.exists() else ()
    return ((path / "question.txt").read_text(), "--evidence", str(path / "evidence"), *more)


TOPIC = ("--topic", f"{EXAMPLES / 'competition/topics.yaml'}#free_transport", "--panel-file", "debaters.yaml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("protocol", "asked", "told"),
    [
        (
            "consensus",
            given("rollout"),
            ["Answer: Canary", "Dissent: nobody", "all 3 agree, 0.62", "check what is quoted"],
        ),
        (
            "consensus",
            given("unresolved"),
            ["Dissent: panelist_1 holds “Yes” (0.62)", "stop: stuck", "In short: no consen"],
        ),
        ("critic", given("critic-fleet"), ["Answer: Yes", "Dissent: 1 objection open", "2 of 3 objections met"]),
        (
            "maci",
            given("diagnosis"),
            ["Answer: Fusarium wilt", "Dissent: nobody", "now holds", "changed the mind of 1 de"],
        ),
        ("competition", TOPIC, ["Verdict: Opposition wins", "stop: played", "that is little"]),
        (
            "madp",
            (TITLE,),
            ["security-architect leads", "Result: ", "In short: nothing was done; security-architect led;"],
        ),
    ],
)
def test_every_shipped_example_fits_one_screen(
    fresh: Front, protocol: str, asked: tuple[str, ...], told: list[str]
) -> None:
    _, out, err = fresh.run("ask", *asked, "--protocol", protocol)
    lines = out.splitlines()
    rows = [row for text in lines for row in (list(wrapped(text, 80)) or [""])]
    assert len(lines) <= LINES and len(rows) <= ROWS, out
    for text in told:
        assert text in out, err
    sid = re.search(r"^session (\w+)$", out, re.M)
    assert sid is not None and lines[-2].startswith(f"more: parley sessions show {sid[1]}; parley ask --verbose shows")
    assert lines[-1].startswith("In short: ")
    assert not [a for a, b in pairwise(lines) if a == b]


@pytest.mark.slow
def test_verbose_tells_everything_and_what_is_not_kept_is_not_offered(fresh: Front) -> None:
    _, out, _ = fresh.run("ask", *given("diagnosis"), "--protocol", "maci", "--verbose")
    assert len(out.splitlines()) > 120 and "In short" not in out
    _, out, _ = fresh.run("ask", "--protocol", "consensus", *given("factual"), "--ephemeral")
    assert "more: parley ask --verbose shows all" in out and "sessions show" not in out
    code, _, err = fresh.run("ask", "q", "--verbose", "--quiet")
    assert (code, err) == (2, "parley: --quiet and --verbose contradict each other; leave one out\n")


def test_verbose_cuts_nothing_that_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    play = Play()
    play.answers(says("Vilnius", reasoning="It stands in the book of the towns. " * 10 + "So it is."), "Riga", "Riga")
    for verbose in (False, True):
        view = PlainView(verbose=verbose)
        for post in play.session.posts:
            view.post(post)
        assert ("So it is." in capsys.readouterr().out) is verbose


@pytest.mark.slow
@pytest.mark.parametrize("more", [(), ("--plain",)])
@pytest.mark.parametrize(
    ("protocol", "asked", "headings"),
    [("competition", TOPIC, [f"Stage {i} of 4" for i in range(1, 5)]), ("maci", given("diagnosis"), ["  round 3: "])],
)
def test_at_80_columns_no_status_row_is_left_and_wrapped_lines_keep_their_indent(
    fresh: Front, protocol: str, asked: tuple[str, ...], headings: list[str], more: tuple[str, ...]
) -> None:
    rows = screen_of(fresh, "ask", *asked, "--protocol", protocol, *more)
    shown = "\n".join(rows)
    for heading in headings:
        assert shown.count(heading) == 1, shown
    assert not re.search("[╭│╰]|thinking|queued|answered|idle| tokens, ", shown), shown
    begin, end = (next(i for i, row in enumerate(rows) if row.startswith(w)) for w in ("session ", "stop: "))
    assert all(row.startswith(("  ", "Stage ")) for row in rows[begin + 1 : end]), shown
    assert any(row.startswith("In short: ") for row in rows[-4:])


class Slow(Play):
    """Every reply takes ten seconds."""

    STEP_S: ClassVar[float] = 10.0


def test_a_running_round_says_how_long_it_may_still_take() -> None:
    play, scene = Slow({"threshold": 100}), Scene()
    began = play.now_ns

    def fold(entry: log.Entry) -> None:
        scene.entry(encode(entry).decode())

    def left(after_s: float) -> float | None:
        return scene.left_s(began + int(after_s * 1e9))

    fold(play.entries[0])
    assert left(5) is None, "nobody has answered yet"
    fold(play.reply("panelist_1", says("a")))
    fold(play.reply("panelist_2", says("b")))
    assert left(15) == 5.0, "the longest turn took twenty seconds"
    assert left(20) is None, "it takes longer than that"
    fold(play.reply("panelist_3", says("c")))
    fold(play.score(10, comment="apart"))
    assert left(55) == 25.0, "the first round took forty seconds"
    assert "about 25 s to the end of the round" in scene.foot(face_of("consensus").present(), began + 55 * 10**9)
