"""Layers of settings, and what is said about a key that none knows."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from parley.agents import strict_yaml
from parley.cli import options
from parley.client.errors import BadInput
from parley.client.opening import opening_of
from parley.planned.plan import plan_of
from parley.settings import load, merge, parse_sets, read_environment


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield


def test_the_command_line_is_over_the_environment_over_the_file_over_defaults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "parley.yaml"
    path.write_text("budget: {tokens: 1, calls: 1, seconds: 1}\nconsensus: {threshold: 80, panel: 4}\n")
    monkeypatch.setenv("PARLEY__BUDGET__CALLS", "2")
    monkeypatch.setenv("PARLEY__BUDGET__SECONDS", "2.5")
    monkeypatch.setenv("PARLEY__CONSENSUS__THRESHOLD", "0.9")
    found = load(None, {"budget": {"seconds": 3.0}})
    assert (found.budget.tokens, found.budget.calls, found.budget.seconds, found.budget.cost_usd) == (1, 2, 3.0, None)
    assert found.of("consensus") == {"threshold": 0.9, "panel": 4}
    assert found.protocol == "madp"


def test_a_higher_layer_is_over_a_lower_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "my.yaml"
    path.write_text("consensus: {round_limit: 3}\nmaci: {round_limit: 3}\n")
    monkeypatch.setenv("PARLEY__CONSENSUS__ROUND_LIMIT", "4")
    assert load(path).of("consensus") == {"round_limit": 4} and load(path).of("maci") == {"round_limit": 3}
    assert load(path, {"consensus": {"round_limit": 5}}).of("consensus") == {"round_limit": 5}


@pytest.mark.parametrize(
    ("text", "key", "near"),
    [
        ("protocl: consensus", "protocl", "did you mean protocol?"),
        ("budget: {token: 5}", "budget.token", "did you mean tokens?"),
        ("consensus: {treshold: 80}", "consensus.treshold", "did you mean threshold?"),
        ("zzz: 1", "zzz", "known: "),
    ],
)
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


@pytest.mark.parametrize("text", ["a: [", "- 1\n- 2", "\xff"])
def test_a_file_that_is_no_mapping_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "my.yaml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadInput, match=r"my\.yaml"):
        load(path)


def test_a_missing_file_is_refused_only_if_it_was_named(tmp_path: Path) -> None:
    assert load().seed is None
    with pytest.raises(BadInput, match="cannot read"):
        load(tmp_path / "absent.yaml")


def test_a_value_out_of_range_is_named() -> None:
    with pytest.raises(BadInput, match=r"budget\.tokens: .*greater than 0.*got 0"):
        load(None, {"budget": {"tokens": 0}})


def test_pairs_are_read_as_yaml_scalars() -> None:
    assert parse_sets(["consensus.threshold=0.7", "consensus.quorum=3", "consensus.x=a=b"]) == {
        "consensus": {"threshold": 0.7, "quorum": 3, "x": "a=b"}
    }


@pytest.mark.parametrize("pair", ["threshold", "=1", ""])
def test_a_pair_without_key_or_value_is_refused(pair: str) -> None:
    with pytest.raises(BadInput, match="expected key=value"):
        parse_sets([pair])


def test_a_key_cannot_be_value_and_section_at_once() -> None:
    with pytest.raises(BadInput, match="as a value and as a section"):
        parse_sets(["consensus=1", "consensus.threshold=2"])


def test_variables_without_the_prefix_are_others_business() -> None:
    assert read_environment({"PARLEY_STATE": "/x", "HOME": "/y", "PARLEY__SEED": "7"}) == {"seed": 7}


def test_merging_goes_section_by_section() -> None:
    assert merge({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 9}, "e": 4}) == {"a": {"b": 9, "c": 2}, "d": 3, "e": 4}


# ---------------------------------------------------------------- what contradicts itself


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: {c: 1, d: 2, c: 3}", "line 2: the key c stands here again, first in line 2"),
        ("a:\n  x: 1\n# comment\n  y: 2\n  x: 1\n", "line 5: the key x stands here again, first in line 2"),
        ("1: a\n'1': b\n0x1: c", "line 3: the key 1 stands here again, first in line 1"),
        ("- {k: 1, 'k': 2}", "line 1: the key k"),
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


def test_a_setting_that_stands_twice_is_named(tmp_path: Path) -> None:
    path = tmp_path / "parley.yaml"
    path.write_text("budget: {tokens: 1}\nbudget: {tokens: 2}\n")
    with pytest.raises(BadInput, match=r"parley\.yaml, line 2: the key budget stands here again, first in line 1"):
        load(path)
    with pytest.raises(BadInput, match=r"consensus\.threshold is set twice by the command line"):
        parse_sets(["consensus.threshold=70", "consensus.threshold=80"])
    with pytest.raises(BadInput, match="consensus is set twice"):
        parse_sets(["consensus.threshold=2", "consensus=1"])
    assert parse_sets(["seed=1", "seed=1"]) == {"seed": 1}


def test_a_file_in_another_encoding_is_said_to_be(tmp_path: Path) -> None:
    path = tmp_path / "my.yaml"
    path.write_bytes(b"seed: 1 # \xff")
    with pytest.raises(BadInput, match=r"my\.yaml is not UTF-8 text \(byte 10\)"):
        load(path)


def test_more_rounds_at_least_than_at_most_are_refused_where_both_are_given(tmp_path: Path) -> None:
    (tmp_path / "parley.yaml").write_text("critic: {min_rounds: 4}\n")
    given = {"settings": {"round_limit": 2}}
    with pytest.raises(BadInput, match=r"^critic\.min_rounds: got 4, and critic\.round_limit 2 ends the debate"):
        opening_of("q", given, (), plan_of(load(None)).asked("critic").offer(), door="ask")
    found = opening_of("q", {**given, "protocol": "critic"}, door="ask")
    assert found.settings == {"round_limit": 2}, "a default is no wish"


def test_two_options_that_contradict_each_other_are_both_named() -> None:
    options.apart(json=True, quiet=False)
    options.apart(ephemeral=False, state=Path("x"))
    with pytest.raises(BadInput, match=r"^--json and --quiet contradict each other"):
        options.apart(json=True, quiet=True)
    with pytest.raises(BadInput, match=r"^--ephemeral and --state contradict each other"):
        options.apart(ephemeral=True, state=Path("x"))
