"""A recorded session computed again with other numbers than those of every session."""

import subprocess
import sys
from pathlib import Path

import pytest

from parley.client import what_if
from parley.client.errors import BadInput
from parley.client.records import Record
from tests.protocols.consensus.play import Play as ConsensusPlay
from tests.protocols.maci.play import AGAINST, FOR, Play, argument, case


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


def test_the_same_numbers_take_the_same_course(debate: Record) -> None:
    found = what_if.compare(debate, {}, {"eps_i": 0.02})
    assert found["changed"] == {} and found["n"] is None


def test_constants_go_with_settings(debate: Record) -> None:
    found = what_if.compare(debate, {"maci": {"tau_stop": 1}}, {"lambda": 0.5})
    assert set(found["changed"]) == {"tau_stop", "constants.lambda"}


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


def test_a_session_cannot_be_computed_with_constants_as_settings(debate: Record) -> None:
    for name in ("constants", "tau_crit"):
        with pytest.raises(BadInput, match=f"maci.{name}: no such setting"):
            what_if.compare(debate, {"maci": {name: 0.85}})


def test_a_protocol_without_constants_says_which_has_some() -> None:
    play = ConsensusPlay()
    play.answers("Vilnius", "Vilnius", "Vilnius")
    with pytest.raises(BadInput, match="the session ran consensus, which has no such constants, but maci has"):
        what_if.compare(recorded(play), {}, {"eps_i": 0.1})


def test_constants_stand_in_a_file_of_yaml_or_json(tmp_path: Path) -> None:
    for text in ("eps_i: 0.05\n", '{"eps_i": 0.05}'):
        (tmp_path / "dials").write_text(text)
        assert what_if.read_constants(tmp_path / "dials") == {"eps_i": 0.05}
    with pytest.raises(BadInput, match="cannot read") as refused:
        what_if.read_constants(tmp_path / "none.yaml")
    assert refused.value.field == "--constants"


def test_the_command_takes_such_a_file(tmp_path: Path) -> None:
    log = Path(__file__).parents[2] / "old_logs/1/maci.jsonl"

    def replay(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "dials.yaml").write_text(text)
        command = (sys.executable, "-m", "parley", "replay", str(log), "--constants", "dials.yaml")
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    good, bad = replay("eps_i: 0.5\n"), replay("eps_i: 5\n")
    assert good.returncode == 0 and good.stdout.startswith("constants.eps_i: 0.5 in place of 0.02\n")
    assert bad.returncode == 2 and "constants.eps_i: got 5.0, allowed is 0 to 1" in bad.stderr
