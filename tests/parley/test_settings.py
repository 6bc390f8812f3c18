"""Layers of settings and what options say: each mistake is named with its key, its file and the nearest."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents import strict_yaml
from parley.cli import options
from parley.client.errors import BadInput
from parley.client.opening import opening_of
from parley.client.protocols.maci import setup as outcomes
from parley.coordinator import estimate
from parley.coordinator.machine import Inadmissible
from parley.coordinator.protocols import PROTOCOLS
from parley.planned.plan import plan_of
from parley.schemas import log
from parley.schemas.session import Budget
from parley.settings import load, parse_sets
from tests.protocols.competition import play as competition_play
from tests.protocols.competition.play import small, speech


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield


def test_the_command_line_is_over_the_environment_over_the_file_over_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "parley.yaml"
    path.write_text("budget: {tokens: 1, calls: 1, seconds: 1}\nconsensus: {threshold: 80, panel: 4, quorum: 2}\n")
    monkeypatch.setenv("PARLEY__BUDGET__CALLS", "2")
    monkeypatch.setenv("PARLEY__BUDGET__SECONDS", "2.5")
    monkeypatch.setenv("PARLEY__CONSENSUS__THRESHOLD", "0.9")
    monkeypatch.setenv("PARLEY_STATE", "/x")  # without the prefix it is another's business
    found = load(None, {"budget": {"seconds": 3.0}, "consensus": {"quorum": 3}})
    assert (found.budget.tokens, found.budget.calls, found.budget.seconds, found.budget.cost_usd) == (1, 2, 3.0, None)
    assert found.of("consensus") == {"threshold": 0.9, "panel": 4, "quorum": 3}
    assert found.protocol == "madp"


@pytest.mark.parametrize(
    ("text", "key", "near"),
    [("protocl: consensus", "protocl", "did you mean protocol?"), ("zzz: 1", "zzz", "known: "),
     ("consensus: {treshold: 80}", "consensus.treshold", "did you mean threshold?")],
)  # fmt: skip
def test_a_misspelt_key_is_named_with_its_file_and_the_nearest(tmp_path: Path, text: str, key: str, near: str) -> None:
    path = tmp_path / "my.yaml"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        load(path)
    assert caught.value.field == key
    assert str(caught.value).startswith(f"{key} in {path} is not a known setting")
    assert near in str(caught.value)


def test_a_misspelt_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY__BUDGET__TOKEN", "5")
    with pytest.raises(BadInput, match=r"budget\.token in the environment is not a known setting; did you mean tokens"):
        load()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a: [", ""), (b"- 1\n- 2", ""), (b"seed: 1 # \xff", r": it is not UTF-8 text \(byte 10\)"),
        (b"budget: {tokens: 1}\nbudget: {tokens: 2}\n", ", line 2: the key budget stands here again, first in line 1"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    path = tmp_path / "my.yaml"
    path.write_bytes(data)
    with pytest.raises(BadInput, match=rf"my\.yaml{why}"):
        load(path)


def test_a_value_out_of_range_is_named() -> None:
    with pytest.raises(BadInput, match=r"budget\.tokens: got 0, allowed is above 0"):
        load(None, {"budget": {"tokens": 0}})


def test_pairs_are_read_as_yaml_scalars() -> None:
    assert parse_sets(["consensus.threshold=0.7", "consensus.quorum=3", "consensus.x=a=b", "seed=1", "seed=1"]) == {
        "consensus": {"threshold": 0.7, "quorum": 3, "x": "a=b"}, "seed": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        *((pair, "expected key=value") for pair in ("threshold", "=1", "")),
        ("consensus=1 consensus.threshold=2", "as a value and as a section"),
        ("consensus.threshold=70 consensus.threshold=80", r"consensus\.threshold is set twice by the command line"),
        ("consensus.threshold=2 consensus=1", "consensus is set twice"),
    ],
)
def test_pairs_that_contradict_each_other_or_say_nothing_are_refused(pairs: str, why: str) -> None:
    with pytest.raises(BadInput, match=why):
        parse_sets(pairs.split(" "))


# ---------------------------------------------------------------- what contradicts itself


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a:\n  x: 1\n# comment\n  y: 2\n  x: 1\n", "line 5: the key x stands here again, first in line 2"),
        ("1: a\n'1': b\n0x1: c", "line 3: the key 1 stands here again, first in line 1"),
        ("[", "is not YAML: "),
        ("when: 2024-99-99", "is not YAML: month"),
        ("[" * 20_000, "is not YAML: "),
    ],
)
def test_a_key_that_stands_twice_is_refused_with_both_lines(text: str, said: str) -> None:
    with pytest.raises(strict_yaml.BadYaml) as caught:
        strict_yaml.load(text)
    assert caught.value.why.startswith(said)


def test_a_merged_key_may_be_overridden() -> None:
    text = "base: &b {x: 1, y: 2}\none: &o {<<: *b, x: 3}\ntwo: {<<: *o, y: 4}\n"
    assert strict_yaml.load(text) == {"base": {"x": 1, "y": 2}, "one": {"x": 3, "y": 2}, "two": {"x": 3, "y": 4}}


def test_more_rounds_at_least_than_at_most_are_refused_where_both_are_given(tmp_path: Path) -> None:
    (tmp_path / "parley.yaml").write_text("critic: {min_rounds: 4}\n")
    given = {"settings": {"round_limit": 2}}
    with pytest.raises(BadInput, match=r"^critic\.min_rounds: got 4, and critic\.round_limit 2 ends the debate"):
        opening_of("q", given, (), plan_of(load(None)).offer("critic"), door="ask")
    found = opening_of("q", {**given, "protocol": "critic"}, door="ask")
    assert found.settings == {"round_limit": 2}, "a default is no wish"


def test_two_options_that_contradict_each_other_are_both_named() -> None:
    options.apart(json=True, quiet=False)
    options.apart(ephemeral=False, state=Path("x"))
    with pytest.raises(BadInput, match=r"^--json and --quiet contradict each other"):
        options.apart(json=True, quiet=True)
    with pytest.raises(BadInput, match=r"^--ephemeral and --state contradict each other"):
        options.apart(ephemeral=True, state=Path("x"))


def said(given: str) -> str:
    """Why it is refused."""
    with pytest.raises(BadInput) as caught:
        outcomes.read_outcomes(given)
    assert caught.value.field == "outcomes"
    return str(caught.value)


def test_outcomes_are_a_list_between_commas_or_the_lines_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "o"
    for text in ("a\n# no\n\nb, c\n", "\ufeffa\r\nb, c\r\n"):
        file.write_bytes(text.encode())
        assert outcomes.read_outcomes(str(file)) == ["a", "b, c"]
    assert outcomes.read_outcomes("a, b") == ["a", "b"]
    scripts = outcomes.read_outcomes("東京\u3000都, می\u200cخواهم")
    assert scripts == ["東京\u3000都", "می\u200cخواهم"], "scripts need these"


def test_what_is_no_list_of_outcomes_says_what_it_is(tmp_path: Path) -> None:
    assert said(str(tmp_path)) == f"outcomes: cannot read {tmp_path}: Is a directory"
    assert said("/dev/zero") == "outcomes: /dev/zero has more than the 1,000,000 bytes that are allowed"
    assert said("word") == "outcomes: got 'word': no such file, and no list of outcomes between commas"


@pytest.mark.parametrize("bad", ["a\x1b[31m", "a\x00b", "a\u202eb", "a\tb", "a\u2028b"])
def test_an_outcome_with_characters_that_a_terminal_obeys_is_refused(bad: str, tmp_path: Path) -> None:
    file = tmp_path / "o"
    file.write_text(f"{bad}\nz\n", encoding="utf-8")
    assert said(str(file)) == f"outcomes: got {bad!r}: a name has no control characters"
    assert "a name has no control characters" in said(f"{bad}, z")


OWN: list[tuple[str, dict[str, Any], str]] = [
    ("maci", {"threshold": 0.5}, "--threshold is not for maci, but for consensus and critic"),
    ("competition", {"round_limit": 2}, "--round-limit is not for competition, but for consensus, critic and maci"),
    ("critic", {"styles": {"pro_1": "logical"}}, "--style is not for critic, but for competition and consensus"),
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


def test_a_budget_that_does_not_hold_a_competition_is_refused_in_the_same_words_by_every_moderator() -> None:
    opened = competition_play.Play(small(speech("pro_1"))).entries[0].event
    assert isinstance(opened, log.Opened)
    poor = msgspec.structs.replace(opened, budget=Budget(calls=1))
    with pytest.raises(Inadmissible, match=r"limit 1, the whole debate may take \d+"):
        estimate.check(competition_play.COMPETITION, poor)
    assert estimate.describe_minimum(PROTOCOLS["maci"]) == "one round"
