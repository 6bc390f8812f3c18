"""A recorded session computed again with other numbers than those of every session."""

from pathlib import Path

import pytest

from parley.client import what_if
from parley.client.errors import BadInput
from parley.client.records import Record
from tests.protocols.consensus.play import Play as ConsensusPlay
from tests.protocols.maci.play import AGAINST, FOR, Play, argument, case
from tests.support import forks


def recorded(play: Play | ConsensusPlay) -> Record:
    return Record(sid="s1", entries=tuple(bytes(entry).decode() for entry in play.log))


@pytest.fixture(scope="module")
def debate() -> Record:
    play = Play({"round_limit": 2})
    play.blind(FOR, AGAINST)
    play.round(case(FOR, argument("one")), case(AGAINST, argument("two")))
    play.round(case(FOR, argument("three")), case(AGAINST, argument("four")))
    return recorded(play)


def test_a_gate_that_admits_nothing_changes_what_the_next_round_is_shown(debate: Record) -> None:
    found = what_if.compare(debate, {}, {"tau_crit": 0.85})
    assert found["changed"] == {"constants.tau_crit": {"recorded": 0.3, "this": 0.85}}
    assert found["constants"] == {"tau_crit": 0.85} and found["n"] is not None
    words = list(what_if.comparison_words(found))
    assert words[0] == "constants.tau_crit: 0.85 in place of 0.3" and "another course from step" in words[1]
    same = what_if.compare(debate, {}, {"eps_i": 0.02})
    assert same["changed"] == {} and same["n"] is None
    both = what_if.compare(debate, {"maci": {"tau_stop": 1}}, {"lambda": 0.5})
    assert set(both["changed"]) == {"tau_stop", "constants.lambda"}


def test_where_two_runs_do_the_same_and_say_another_thing_it_is_told_once_and_in_grammar(debate: Record) -> None:
    changed, first, *others, last = what_if.comparison_words(what_if.compare(debate, {"maci": {"cl": 0.3}}))
    assert changed.startswith("cl: 0.3 in place of ")
    assert "both runs take the same steps, but do not show or say the same: " in first
    assert "posts signals on public" in first and "both runs posts" not in first
    told = [text for text in others if text.startswith("  ")]
    assert told and len(set(told)) == len(told) and all(text.startswith("  both: ") for text in told)
    assert last.endswith(" recorded events carried it")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"eps_j": 0.1}, r"constants\.eps_j: got 0\.1, no such key; there are .*eps_i"),
        ({"eps_i": 2}, r"constants\.eps_i: got 2(\.0)?, allowed is 0 to 1"),
        ({"w": 1.5}, r"constants\.w: got 1\.5, allowed is a whole number"),
        ({"q_lo": 0.9}, r"constants\.q_lo: got 0\.9, allowed is at most constants\.q_hi, which is 0\.7"),
    ],
)
def test_what_is_no_constant_is_refused_by_name_value_and_limit(
    debate: Record, given: dict[str, float], said: str
) -> None:
    with pytest.raises(BadInput, match=said):
        what_if.compare(debate, {}, given)


def test_constants_are_no_settings_and_a_protocol_without_any_says_which_has_some(debate: Record) -> None:
    for name in ("constants", "tau_crit"):
        with pytest.raises(BadInput, match=f"maci.{name}: no such setting"):
            what_if.compare(debate, {"maci": {name: 0.85}})
    play = ConsensusPlay()
    play.answers("Vilnius", "Vilnius", "Vilnius")
    with pytest.raises(BadInput, match="the session ran consensus, which has no such constants, but maci has"):
        what_if.compare(recorded(play), {}, {"eps_i": 0.1})


def test_constants_stand_in_a_file_of_yaml_or_json(tmp_path: Path) -> None:
    for text in ("eps_i: 0.05\n", '{"eps_i": 0.05}'):
        (tmp_path / "dials").write_text(text)
        assert what_if.read_constants(tmp_path / "dials") == {"eps_i": 0.05}
    (tmp_path / "dials").write_text("\n")
    with pytest.raises(BadInput, match=r"--constants: .*dials has no constants, so nothing would change"):
        what_if.read_constants(tmp_path / "dials")
    with pytest.raises(BadInput, match="cannot read") as refused:
        what_if.read_constants(tmp_path / "none.yaml")
    assert refused.value.field == "--constants"


def test_the_command_takes_such_a_file(tmp_path: Path) -> None:
    log = Path(__file__).parents[2] / "old_logs/1/maci.jsonl"
    (tmp_path / "dials.yaml").write_text("eps_i: 0.5\n")
    code, out, err = forks.run("replay", str(log), "--constants", str(tmp_path / "dials.yaml"))
    assert code == 0 and out.startswith("constants.eps_i: 0.5 in place of 0.02\n"), err
