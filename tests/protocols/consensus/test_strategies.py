"""Which strategy each seat of a panel works by, what it is told, and where that is shown."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.client.errors import BadInput
from parley.client.opening import Offer, opening_of
from parley.client.setup import strategies
from parley.coordinator.admission import build_settings
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.table import Inadmissible
from parley.schemas.protocols.consensus import PanelBrief
from parley.schemas.strategies import STYLES, parse, shipped
from parley.schemas.wire import InvalidValue, decode
from tests.client import shown
from tests.protocols.consensus.play import Play, document, workers
from tests.protocols.consensus.test_seating import decide

ALL = frozenset(shipped())
OF = {style: frozenset(id_ for id_, s in shipped().items() if style in s.styles) for style in STYLES}
DOCUMENT = document("a.md", "Vilnius is the capital.", "panelist_1", "panelist_2", "panelist_3")
OWN = {"id": "own-way", "name": "own way", "about": "Ours.", "blind": "Look twice.", "later": "Look again."}
FILE = "# own way\n\nOurs.\n\n## Blind round\n\nLook\ntwice.\n\n## Later rounds\n\nLook again.\n"


def named(play: Play) -> list[str]:
    """The strategies of the panel, in its order; empty: a seat has none."""
    seats = [s for s in play.session.opened.seats if s.role == "panelist"]
    return [s.strategy.id if s.strategy else "" for s in seats]


@pytest.mark.parametrize(
    ("panel", "settings", "more", "of", "some"),
    [
        (3, {}, {}, ALL, 3),
        (2, {}, {}, ALL, 0),
        (3, {}, {"documents": [DOCUMENT]}, ALL, 0),
        (3, {"styles": {"*": "mixed"}}, {"there": workers(3, family="extractive"), "documents": [DOCUMENT]}, ALL, 0),
        (3, {"styles": {"*": "none"}}, {}, ALL, 0),
        (3, {"styles": {"*": "mixed"}}, {"documents": [DOCUMENT]}, ALL, 3),
        (4, {"styles": {"*": "adversarial"}}, {}, OF["adversarial"], 4),
        (3, {"styles": {"*": "plain-answer"}}, {}, {"plain-answer"}, 3),
        (3, {"styles": {"panelist_2": "none"}}, {}, ALL, 2),
        (2, {"styles": {"panelist_2": "own-way"}, "own_strategies": [OWN]}, {}, {"own-way"}, 1),
        (3, {"own_strategies": [OWN]}, {"documents": [DOCUMENT]}, {*ALL, "own-way"}, 3),
    ],
)
def test_a_style_deals_strategies_and_none_twice_before_all_are_dealt(
    panel: int, settings: dict[str, Any], more: dict[str, Any], of: frozenset[str], some: int
) -> None:
    dealt = [id_ for id_ in named(Play(settings, panel=panel, **more)) if id_]
    assert len(dealt) == some and set(dealt) <= of and len(set(dealt)) == min(some, len(of))


def test_a_seat_is_told_of_its_strategy_in_words_of_the_round() -> None:
    play = Play({"styles": {"panelist_1": "base-rates", "*": "none"}})
    strategy = shipped()["base-rates"]
    briefs = {s: decode(play.turn(s).ask.brief, PanelBrief) for s in ("panelist_1", "panelist_2")}
    assert briefs["panelist_1"].strategy == strategy.blind and not briefs["panelist_2"].strategy
    play.round(20, "Vilnius", "Kaunas", "Riga")
    assert decode(play.turn("panelist_1").ask.brief, PanelBrief).strategy == strategy.later


KEYLESS = workers(3, family="extractive")


@pytest.mark.parametrize(
    ("styles", "there", "told"),
    [
        ({"*": "base-rats"}, None, "'base-rats' is no strategy; did you mean base-rates?"),
        ({"panelist_1": "mixed"}, None, "'mixed' is a style of all seats, and not of one; known are none, base-rates"),
        ({"panelist_7": "base-rates"}, None, "there is no panelist panelist_7; there are panelist_1, panelist_2"),
        ({"panelist_1": "base-rates"}, KEYLESS, "panelist_1 has no language model, so it cannot work by base-rates"),
    ],
)
def test_a_style_that_cannot_be_is_refused(styles: dict[str, str], there: Any, told: str) -> None:
    with pytest.raises(Inadmissible, match=r"consensus\.styles: ") as error:
        Play({"styles": styles}, there=there)
    assert told in str(error.value)


@pytest.mark.parametrize(("more", "of"), [({}, ALL), ({"panel": 2}, frozenset())])
def test_who_joins_works_by_a_strategy_as_the_others_do(more: Any, of: frozenset[str]) -> None:
    play = Play({"round_limit": 3}, **more)
    first = set(named(play))
    decide(play, "add dora")
    decide(play, "add emil")
    cards = [card.text for card in shown.fold(play).cards if card.kind == "seating"]
    play.round(10, *[str(n) for n in range(len(play.panel))])
    seats = {s.seat: s.strategy or None for s in play.session.opened.seats if s.seat in ("dora", "emil")}
    joined = {s.id for s in seats.values() if s}
    assert joined <= of and all(map(bool, seats.values())) == bool(of)
    assert not of or len(first | joined) == 5, "none is dealt twice"
    for (name, dealt), card in zip(seats.items(), cards, strict=True):
        assert card == f"{name.title()}{f', {dealt.name},' if dealt else ''} joins from round 2 on, by client"
        brief = decode(play.turn(name).ask.brief, PanelBrief)
        assert brief.strategy == (dealt.blind if dealt else msgspec.UNSET)


# ---------------------------------------------------------------- files


def test_a_file_is_read_and_travels_in_the_opening(tmp_path: Path) -> None:
    (tmp_path / "own-way.md").write_text(FILE)
    (tmp_path / "notes.txt").write_text("none")
    given = {"own_strategies": str(tmp_path), "styles": {"panelist_1": "own-way"}}
    asked_for = {"protocol": "consensus", "settings": given}
    documents = [document("a.md", "Tea.", "*")]
    opening = opening_of("Tea?", asked_for, documents, Offer(here=True), door="python")
    assert opening.settings["own_strategies"] == [{**OWN, "styles": ()}]
    assert build_settings(PROTOCOLS["consensus"], opening.settings).own_strategies[0] == parse("own-way", FILE)
    with pytest.raises(BadInput, match="a folder is of the machine that asks"):
        opening_of("Tea?", asked_for, documents, door="page")


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("own-way", FILE.removeprefix("# "), "it must begin with a heading"),
        ("own-way", FILE.replace("Blind round", "Blind"), "sections are styles, blind round, later rounds"),
        ("own-way", FILE.replace("Later rounds", "Blind round"), "the section stands there twice"),
        ("own-way", FILE.replace("again", "a" * 700), "later rounds: got '706 characters', allowed are at most 600"),
        ("own-way", f"{FILE}\n## Styles\n\nloud\n", "styles: got 'loud', styles are adversarial, collaborative"),
        ("Own Way", FILE, "a name has small letters, digits and -"),
        ("mixed", FILE, "a style has this name"),
    ],
)
def test_a_file_that_is_no_strategy_says_what_is_wrong(name: str, text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue) as error:
        parse(name, text)
    assert told in str(error.value)
    (tmp_path / f"{name}.md").write_text(text)
    with pytest.raises(BadInput) as whole:
        strategies.read_folder(tmp_path)
    assert f"{tmp_path}/{name}.md" in str(whole.value) and told in str(whole.value)
    (tmp_path / f"{name}.md").unlink()
    with pytest.raises(BadInput, match="holds 0 Markdown files; allowed are 1 to 20"):
        strategies.read_folder(tmp_path)
