"""What options say: outcomes from anywhere, and options of a protocol that is not played, each refused by its name."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.client import what_if
from parley.client.errors import BadInput
from parley.client.opening import opening_of
from parley.client.protocols.maci import outcomes_file as outcomes
from parley.client.records import Record
from parley.coordinator import estimate
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.session import Budget
from parley.schemas.wire import encode
from tests.parley.support import QUESTION, Front, until
from tests.protocols.competition import play as competition_play
from tests.protocols.competition.play import small, speech
from tests.protocols.maci import play as maci_play
from tests.protocols.maci.play import belief


def said(given: str) -> str:
    """Why it is refused."""
    with pytest.raises(BadInput) as caught:
        outcomes.read_outcomes(given)
    assert caught.value.field == "outcomes"
    return str(caught.value)


def test_outcomes_are_a_list_between_commas_a_json_array_or_a_file_of_either(tmp_path: Path) -> None:
    file = tmp_path / "o"
    for text in ("a\n# no\n\nb, c\n", '["a", "b, c"]', "\ufeffa\r\nb, c\r\n"):
        file.write_bytes(text.encode())
        assert outcomes.read_outcomes(str(file)) == ["a", "b, c"]
    assert outcomes.read_outcomes("a, b") == ["a", "b"]
    assert outcomes.read_outcomes(' ["a", "b, c"]') == ["a", "b, c"]
    scripts = outcomes.read_outcomes("東京\u3000都, می\u200cخواهم")
    assert scripts == ["東京\u3000都", "می\u200cخواهم"], "scripts need these"


def test_what_is_no_list_of_outcomes_says_what_it_is(tmp_path: Path) -> None:
    file = tmp_path / "o"
    file.write_text('{"a": 1}')
    assert said(str(file)) == f"outcomes: {file} holds a JSON object, and no list of outcomes"
    assert said('{"a": 1}') == "outcomes: it holds a JSON object, and no list of outcomes"
    assert said('["a",').startswith("outcomes: it begins like JSON and is none: ")
    assert said('["a", 3]') == "outcomes: it holds 3, expected texts"
    assert said("/dev/null") == "outcomes: /dev/null names 0, expected two or more"
    assert said(str(tmp_path)) == f"outcomes: cannot read {tmp_path}: Is a directory"
    assert said("/dev/zero") == "outcomes: /dev/zero has more than the 1,000,000 bytes that are allowed"
    assert said("word") == "outcomes: got 'word': no such file, and no list of outcomes between commas"


@pytest.mark.parametrize("bad", ["a\x1b[31m", "a\x00b", "a\u202eb", "a\tb", "a\u2028b"])
def test_an_outcome_with_characters_that_a_terminal_obeys_is_refused(bad: str, tmp_path: Path) -> None:
    file = tmp_path / "o"
    for text in (f"{bad}\nz\n", json.dumps([bad, "z"])):
        file.write_text(text, encoding="utf-8")
        assert said(str(file)) == f"outcomes: got {bad!r}: a name has no control characters"
    assert "a name has no control characters" in said(f"{bad}, z")


OWN: list[tuple[str, dict[str, Any], str]] = [
    ("maci", {"threshold": 0.5}, "--threshold is not for maci, but for consensus and critic"),
    ("critic", {"panel": 3}, "--panel is not for critic, but for consensus and maci"),
    ("consensus", {"debaters": 3}, "--debaters is not for consensus, but for maci"),
    ("critic", {"outcomes": ["a", "b"]}, "--outcomes is not for critic, but for maci"),
    ("competition", {"round_limit": 2}, "--round-limit is not for competition, but for consensus and critic and maci"),
    ("consensus", {"styles": {"pro_1": "logical"}}, "--style is not for consensus, but for competition"),
    ("consensus", {"stances": {"pro": "x"}}, "--topic is not for consensus, but for competition"),
]


@pytest.mark.parametrize(("protocol", "own", "why"), OWN)
def test_an_option_of_another_protocol_is_named_as_it_was_typed(protocol: str, own: dict[str, Any], why: str) -> None:
    flag = why.split()[0]
    given = {"protocol": protocol, "settings": own}
    with pytest.raises(BadInput, match=f"^{re.escape(why)}$") as caught:
        opening_of("q", given, door="ask", flags={flag.removeprefix("--").replace("-", "_")})
    assert caught.value.field == flag
    with pytest.raises(BadInput, match=r"^settings\.\w+ is not for"):
        opening_of("q", given, door="mcp")


@pytest.mark.slow
def test_ask_and_up_refuse_it_and_up_says_how_to_ask(tmp_path: Path) -> None:
    front = Front(tmp_path, protocol="")
    code, out, err = front.run("ask", QUESTION, "--protocol", "maci", "--threshold", "0.5", "--json")
    assert code == 2 and json.loads(out)["error"]["field"] == "--threshold", err
    code, _, err = front.run("up", "--protocol", "critic", "--panel", "3")
    assert (code, err) == (2, "parley: --panel is not for critic, but for consensus and maci\n")
    code, _, err = front.run("up", "--protocol", "critic", "--format", "oxford")
    assert (code, err) == (2, "parley: --format is not for critic, but for competition\n")
    assert not front.state.exists()
    up = front.start("up", "--protocol", "critic")
    shown = ""
    try:
        assert up.stdout is not None
        while not shown.startswith("ask "):
            shown = up.stdout.readline()
            assert shown, "it printed no such line"
    finally:
        up.terminate()
        up.communicate()
    assert shown.startswith("ask          parley ask --protocol critic --nats nats://127.0.0.1:")
    until(lambda: not front.left(), "something is left")


def test_where_two_runs_do_the_same_and_say_another_thing_it_is_told_once_and_in_grammar() -> None:
    play = maci_play.Play()
    play.blind(belief(0.9, 0.1), belief(0.2, 0.8))
    record = Record(sid="s1", entries=tuple(encode(e).decode() for e in play.entries))
    changed, first, *others, last = what_if.comparison_words(what_if.compare(record, {"maci": {"cl": 0.3}}))
    assert changed.startswith("cl: 0.3 in place of ")
    assert "both runs take the same steps, but do not show or say the same: " in first
    assert "posts signals on public" in first and "both runs posts" not in first
    told = [text for text in others if text.startswith("  ")]
    assert told and len(set(told)) == len(told) and all(text.startswith("  both: ") for text in told)
    assert last.endswith(" recorded events carried it")


def test_a_budget_that_does_not_hold_a_competition_is_refused_in_the_same_words_by_every_moderator() -> None:
    opened = competition_play.Play(small(speech("pro_1"))).entries[0].event
    assert isinstance(opened, log.Opened)
    poor = msgspec.structs.replace(opened, budget=Budget(calls=1))
    with pytest.raises(Inadmissible, match=r"limit 1, the whole debate may take \d+"):
        estimate.check(competition_play.COMPETITION, poor)
    assert estimate.least_words(PROTOCOLS["maci"]) == "one round"
