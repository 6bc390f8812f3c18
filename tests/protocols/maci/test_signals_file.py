"""`parley signals FILE`: one JSON document out of one, and errors that name the place."""

import copy
import json
import math
import os
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.client.errors import BadInput
from parley.client.protocols.maci.signals_file import read_debates
from parley.schemas.control import Constants, Control
from tests.protocols.maci import naive
from tests.support.forks import command, run

ROOT = Path(__file__).parents[3]
DEBATE: dict[str, Any] = {
    "outcomes": ["a", "b", "c"],
    "ordered": False,
    "config": {"tau_stop": 2},
    "rounds": [
        {
            "beliefs": {"u": [0.6, 0.3, 0.1], "v": [0.1, 0.2, 0.7]},
            "evidence": {"u": ["e1", "e2"], "v": ["e2"]},
            "q": 0.62,
        },
        {
            "beliefs": {"u": [0.5, 0.3, 0.2], "v": [0.2, 0.3, 0.5]},
            "evidence": {"u": ["e1", "e2"], "v": ["e2"]},
            "crit": {"u": 0.8, "v": 0.7},
            "q": 0.7,
        },
        {
            "beliefs": {"u": [0.4, 0.3, 0.3], "v": [0.3, 0.3, 0.4]},
            "evidence": {"u": ["e2"], "v": ["e2"]},
            "crit": {"u": 0.9, "v": 0.7},
            "q": 0.8,
        },
    ],
}
STILL = {"beliefs": {"u": [0.4, 0.3, 0.3], "v": [0.3, 0.3, 0.4]}, "evidence": {"u": ["e2"], "v": ["e2"]}, "q": 0.95}


def changed(*path: Any, to: Any) -> dict[str, Any]:
    """The debate with one value changed, or added."""
    found = copy.deepcopy(DEBATE)
    at: Any = found
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = to
    return found


def signals(*arguments: str, said: str | bytes = "") -> tuple[int, str, str]:
    """(exit status, stdout, stderr) of the command as a process."""
    return run("signals", *arguments, said=said)


def computed(debate: dict[str, Any], folder: Path) -> Any:
    """As it is read back by who reads the output."""
    file = folder / "debate.json"
    file.write_text(json.dumps(debate))
    return json.loads(msgspec.json.encode(read_debates(str(file))))


def refusal(debate: Any, folder: Path) -> str:
    """What the error says behind the file's name."""
    file = folder / "debate.json"
    file.write_text(debate if isinstance(debate, str) else json.dumps(debate))
    with pytest.raises(BadInput) as refused:
        read_debates(str(file))
    assert str(refused.value).startswith(f"{file}: ")
    assert refused.value.exit_code == 2
    return str(refused.value).removeprefix(f"{file}: ")


def test_bad_input_is_status_2_one_line_and_nothing_on_standard_output(tmp_path: Path) -> None:
    said = json.dumps(changed("rounds", 2, "beliefs", "u", to=[0.4, 0.3, 0.4]))
    code, out, err = signals("-", said=said)
    assert (code, out) == (2, "")
    assert err == "parley: standard input: rounds[2].beliefs.u: got 1.1, allowed is a sum of 1 within 0.02\n"
    code, out, err = signals(str(tmp_path / "none.json"))
    assert (code, out, err) == (2, "", f"parley: {tmp_path}/none.json: No such file or directory\n")
    code, out, err = signals("-", "--preset", "nope", said=said)
    assert (code, out, err) == (2, "", "parley: --preset: got 'nope', allowed are debate, paper\n")
    code, out, err = signals("-", said=b'{"outcomes": ["\xff"]}')
    assert (code, out) == (2, "")
    assert err == "parley: standard input: the file: got 'byte 15', expected UTF-8 text\n"


def test_the_rounds_are_the_controllers(tmp_path: Path) -> None:
    """Every figure from the equations written out; smoothing is the default 1e-6."""
    found = computed(DEBATE, tmp_path)["rounds"]
    rows = naive.debate(
        [{"beliefs": r["beliefs"]} for r in DEBATE["rounds"]],
        [r.get("crit", {}) for r in DEBATE["rounds"]],
        either_way=True,
    )
    for row, round_ in zip(rows, found, strict=True):
        for name, value in row.items():
            agent = name.removeprefix("weight ")
            assert (round_["weights"][agent] if name != agent else round_[name]) == pytest.approx(value, abs=1e-12)
    assert [r["overlap"] for r in found] == [0.5, 0.5, 1.0]
    assert [r["cl"] for r in found] == [None, 0.8, pytest.approx(0.6)]  # the mixture hardly moves, the beliefs do
    assert [r["tau_crit"] for r in found] == [None, 0.3, pytest.approx(0.4)]


def test_the_rounds_end_where_it_stops(tmp_path: Path) -> None:
    debate = changed("rounds", to=[*DEBATE["rounds"], *[STILL] * 9])
    found = computed(
        changed("rounds", to=debate["rounds"]) | {"config": {"tau_stop": 2}, "constants": {"w": 1}}, tmp_path
    )
    stop = found["stop"]
    assert (stop["reason"], stop["converged"]) == ("plateau", False), "their answers differ"
    assert found["rounds"][-1]["round"] == stop["round"] == 4
    assert [r["stop"] for r in found["rounds"]] == [None] * 4 + ["plateau"]
    assert stop["certificate"]["history"][-1]["round"] == 4
    assert found["next"] is None


def test_every_key_of_the_configuration_and_of_a_round_is_taken(tmp_path: Path) -> None:
    settings, constants = msgspec.to_builtins(Control(cl=0.4)), msgspec.to_builtins(Constants(c_max=100.0, ece=0.2))
    assert "lambda" in constants
    del constants["development"]
    found = computed({**DEBATE, "config": settings, "constants": {**constants, "lambda": 0.0}}, tmp_path)
    assert found["rounds"][1]["cl"] == 0.4
    assert found["rounds"][1]["reliability"] == {"u": 0.8, "v": 0.7}
    one = {**DEBATE["rounds"][1], "crit_mean": 0.77, "crit_variance": 0.004, "tokens": 1200}
    row = computed(changed("rounds", 1, to=one), tmp_path)["rounds"][1]
    assert (row["crit"], row["crit_variance"], row["tokens"]) == (0.77, 0.004, 1200)
    bins = computed({**DEBATE, "constants": {"development": {"q": [0.1, 0.2], "d": [0.6, 0.9]}}}, tmp_path)
    assert bins["rounds"][1]["cl"] == 0.7


def test_who_is_absent_keeps_its_last_belief(tmp_path: Path) -> None:
    absent = computed(changed("rounds", 2, "beliefs", to={"v": [0.3, 0.3, 0.4]}), tmp_path)
    kept = computed(changed("rounds", 2, "beliefs", "u", to=[0.5, 0.3, 0.2]), tmp_path)
    assert absent["rounds"][2] == {**kept["rounds"][2], "absent": 1} and kept["rounds"][2]["absent"] == 0


PUBLISHED = [json.loads(line) for line in (Path(__file__).parent / "published.jsonl").read_text().splitlines()]
"""Debates that stand in the repository, or were written for what the readings differ in: where from, as this command
reads it, and what is said of it in the published reading (without what repeats or is only logged)."""


def apart(here: Any, there: Any, path: str = "") -> list[str]:
    """Places where the second has a figure that the first has not so."""
    if isinstance(there, dict):
        return [p for key, part in there.items() for p in apart((here or {}).get(key), part, f"{path}.{key}")]
    if isinstance(there, list) and isinstance(here, list) and len(here) == len(there):
        return [p for n, part in enumerate(there) for p in apart(here[n], part, f"{path}[{n}]")]
    if isinstance(there, float) and isinstance(here, float):
        return [] if math.isclose(here, there, rel_tol=1e-9, abs_tol=1e-12) else [path]
    return [] if here == there else [path]


def test_the_preset_paper_gives_the_recorded_figures() -> None:
    said = "\n".join(json.dumps(one["debate"]) for one in PUBLISHED)
    code, out, _ = signals("-", "--preset", "paper", said=said)
    assert code == 0
    told = [json.loads(text) for text in out.splitlines()]
    assert {one["from"]: apart(t, one["said"]) for one, t in zip(PUBLISHED, told, strict=True)} == {
        one["from"]: [] for one in PUBLISHED
    }
    now = json.loads(signals("-", said=json.dumps(PUBLISHED[4]["debate"]))[1])
    assert apart(now, PUBLISHED[4]["said"]), "the readings differ"


OTHER = {**DEBATE, "rounds": DEBATE["rounds"][:1]}


def answered(debate: Any) -> Any:
    """What the command says of one debate alone."""
    return json.loads(signals("-", said=json.dumps(debate))[1])


def test_a_bad_line_names_its_number_and_the_others_are_answered(tmp_path: Path) -> None:
    file = tmp_path / "debates.jsonl"
    bad = json.dumps(changed(*U0, to=[0.6, 0.3, 0.05]))
    file.write_text("\n".join(["{", "", json.dumps(DEBATE), bad, json.dumps(OTHER)]))
    code, out, err = signals(str(file))
    broken, first, unsummed, second = (json.loads(text) for text in out.splitlines())
    assert code == 1
    assert (first, second) == (answered(DEBATE), answered(OTHER))
    assert (broken["line"], unsummed["line"]) == (1, 4)
    why = f"{file}, line 4: rounds[0].beliefs.u: got 0.95, allowed is a sum of 1 within 0.02"
    assert unsummed["error"] == {"field": str(file), "message": why}
    assert err.splitlines()[1] == f"parley: {why}"


def test_a_line_is_answered_before_the_next_one_is_there() -> None:
    pipe = subprocess.PIPE
    with command(("signals", "-", "--lines"), env=os.environ, cwd=ROOT, stdin=pipe, stdout=pipe, text=True) as child:
        assert child.stdin is not None and child.stdout is not None
        for debate in (DEBATE, OTHER):
            child.stdin.write(json.dumps(debate) + "\n")
            child.stdin.flush()
            assert json.loads(child.stdout.readline())["stop"] is None
        child.stdin.close()
        assert child.wait(timeout=50) == 0


U0 = ("rounds", 0, "beliefs", "u")
REFUSED: dict[str, tuple[Any, str]] = {
    "negative": (
        changed(*U0, to=[1.0, -0.1, 0]),
        "rounds[0].beliefs.u[1]: got -0.1, a probability is wanted, 0 to 1",
    ),
    "type": (changed(*U0, to=[0.5, "0.5", 0]), "rounds[0].beliefs.u[1]: got '0.5', allowed is a number"),
    "outcome twice": (
        changed("outcomes", to=["a", "b", "a."]),
        "outcomes: got 'a.', two outcomes are the same: 'a' and 'a.'",
    ),
    "agent new": (
        changed("rounds", 1, "beliefs", "w", to=[1, 0, 0]),
        "rounds[1].beliefs: got 'w', which has no belief in rounds[0]",
    ),
    "crit": (changed("rounds", 1, "crit", "u", to=1.2), "rounds[1].crit.u: got 1.2, allowed is 0 to 1"),
    "a figure of a round": (changed("rounds", 1, "q", to=1.5), "rounds[1].q: got 1.5, allowed is -1 to 1"),
    "no rounds": (changed("rounds", to=[]), "rounds: got [], expected one at least, the blind one"),
    "positions that fall": (
        {**DEBATE, "ordered": True, "positions": [0, 2, 1]},
        "positions: got [0.0, 2.0, 1.0], they must rise",
    ),
    "key of a round": (
        changed("rounds", 1, "Q", to=0.5),
        "rounds[1].Q: got 0.5, no such key; there are beliefs, evidence, crit, crit_mean, crit_variance, q, tokens, "
        "advocate, attacks, unanswered, arguments, judges",
    ),
    "no JSON": ('{"outcomes": [', "the file: got 'line 1, column 15', no JSON: Expecting value"),
    "NaN": ('{"outcomes": NaN}', "the file: got 'NaN', which is no number in JSON"),
    "key twice": (
        '{"rounds": [{"beliefs": {"u": [1], "u": [1]}}]}',
        "rounds[0].beliefs.u: got 'u', it is given twice, expected once",
    ),
    "half a character": (
        '{"outcomes": ["\\ud800", "b"]}',
        "outcomes[0]: got '\\ud800', half a character (a lone surrogate), expected text",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_refused_by_place_value_and_limit(case: str, tmp_path: Path) -> None:
    debate, message = REFUSED[case]
    assert refusal(debate, tmp_path) == message
