"""`parley ask --protocol maci` on the examples: every end that it may come to, and what is refused by its name."""

import json
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.retrieval.corpus import collapse
from parley.stack.lease import read_running
from tests.parley.support import ROOT, Front, until
from tests.protocols.maci.simulate import example, run

pytestmark = [pytest.mark.slow]
EXAMPLES = ROOT / "examples"
STOPS = ["agreement", "budget", "plateau", "round_limit", "stalemate"]
README = [
    tuple(shlex.split(re.sub(r"\$\(cat (.*?)\)", lambda file: (ROOT / file[1]).read_text().strip(), command)))[1:]
    for command in re.findall(r"^(parley ask .*--protocol maci.*)$", (EXAMPLES / "README.md").read_text(), re.M)
]
"""What the examples' page says to run, paths aside: a consensus, and a deadlock."""


class Asked(msgspec.Struct, frozen=True):
    """How a command ended: its status and the one document that it printed."""

    code: int
    result: dict[str, Any]

    @property
    def sid(self) -> str:
        return str(self.result["session"])

    @property
    def end(self) -> tuple[int, str, bool]:
        """(exit status, reason, whether it is called convergence)."""
        return self.code, self.result["stop"]["reason"], self.result["stop"]["converged"]

    @property
    def signals(self) -> list[dict[str, Any]]:
        """Of each round, the blind one first."""
        return [r["signals"] for r in self.result["rounds"]]

    @property
    def certificate(self) -> dict[str, Any]:
        found: dict[str, Any] = self.result["stop"]["certificate"]
        return found


class Bench:
    """One stack with three debaters for all these tests; a session that two tests look at is played once."""

    def __init__(self, folder: Path) -> None:
        self.front = Front(folder)
        self._asked: dict[tuple[str, ...], Asked] = {}

    @staticmethod
    def command(example: str, *more: str, given: bool = True) -> tuple[str, ...]:
        """`parley ask` on an example, with its outcomes or with open ones."""
        root = EXAMPLES / example
        question = (root / "question.txt").read_text().strip()
        outcomes = ("--outcomes", str(root / "outcomes.txt")) if given else ()
        return ("ask", question, "--protocol", "maci", "--evidence", str(root / "evidence"), *outcomes, *more)

    def ask(self, example: str, *more: str, given: bool = True) -> Asked:
        """The same with --json."""
        command = self.command(example, *more, "--json", given=given)
        if command not in self._asked:
            code, out, err = self.front.run(*command)
            assert err == ""
            self._asked[command] = Asked(code, json.loads(out))
        return self._asked[command]

    def readme(self, n: int) -> tuple[str, ...]:
        """The page's n-th command, wherever it is run."""
        return tuple(str(ROOT / word) if word.startswith("examples/") else word for word in README[n])

    def told(self, *command: str, ends: int = 0) -> str:
        """What a command prints that ends with this status."""
        code, out, err = self.front.run(*command)
        assert (code, err) == (ends, ""), err
        return out


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    found = Bench(tmp_path_factory.mktemp("maci"))
    up = found.front.start("up", "--protocol", "maci", "--debaters", "3")
    try:
        until(lambda: (there := read_running(found.front.state)) and there.ready, "the stack is not ready")
        yield found
    finally:
        up.send_signal(signal.SIGINT)
        up.communicate(timeout=20)
    found.front.assert_nothing_left()


# ---------------------------------------------------------------- its ends


def test_an_agreement_that_is_convergence(bench: Bench) -> None:
    """And the same session as the machine plays in one process without a bus."""
    asked = bench.ask("diagnosis")
    assert set(bench.readme(0)) == set(bench.command("diagnosis")), "as the examples' page has it"
    assert asked.end == (0, "agreement", True) and asked.result["status"] == "finished"
    assert asked.signals[0]["jsd"] > 0.3 > 0.1 > asked.signals[-1]["jsd"], "they began apart"
    assert asked.result["outcome"]["answer"] == "Fusarium wilt" and asked.result["outcome"]["plan"]["tests"]
    assert sorted(asked.certificate["stops"]) == STOPS, "all stops are laid open"
    assert [name for name, stop in asked.certificate["stops"].items() if stop["holds"]] == ["agreement"]
    assert asked.certificate["cross_family"] is asked.result["outcome"]["cross_family"] is False
    seeded = bench.ask("diagnosis", "--seed", "1", "--set", "maci.judges=1")
    assert run(*example("diagnosis")).result.outcome == seeded.result["outcome"]


@pytest.fixture(scope="module")
def deadlock(bench: Bench) -> str:
    """What is printed of a session in which nobody moves: the command on the examples' page."""
    assert set(bench.readme(1)) > set(bench.command("diagnosis")), "the same question"
    return bench.told(*bench.readme(1), "--plain", "--verbose", ends=3)


def test_a_deadlock_ends_by_plateau_and_is_not_called_convergence(deadlock: str) -> None:
    """Live in plain lines: the dials and signals as they move, and the words at the end. The exit status is 3."""
    assert re.search(r"^Most probable: .*\n  not settled: .*; no further change", deadlock, re.M)
    assert re.search(r"^    no: disagreement: 0\.39\d*, wanted at most 0\.1$", deadlock, re.M)
    assert re.findall(r"^  disagreement (0\.\d\d) \[", deadlock, re.M) == ["0.39", "0.39", "0.39"]
    assert "confidence 0.58, self-rated" in deadlock


def test_the_budget(bench: Bench) -> None:
    asked = bench.ask("diagnosis", "--budget-calls", "24", "--set", "maci.reading=paper")
    assert asked.end == (3, "budget", False) and asked.certificate["spent"]["calls"] <= 24
    value = asked.certificate["stops"]["budget"]["tests"][0]["value"]
    assert re.fullmatch(r"budget\.calls: limit 24, used or reserved \d+, the next turns may take 6", value)
    assert asked.result["outcome"]["plan"]["tests"], "held back for the plan"


def test_the_last_round_allowed(bench: Bench) -> None:
    asked = bench.ask("diagnosis", "--round-limit", "1")
    assert asked.end == (3, "round_limit", False) and [s["round"] for s in asked.signals] == [0, 1]


def test_without_the_q_gate_evidence_off_the_matter_leads_and_is_no_agreement(bench: Bench) -> None:
    gated = bench.ask("off-topic", "--set", "maci.q_gate=true")
    ungated = bench.ask("off-topic")
    assert gated.result["outcome"]["answer"] == "Worn bearing" and gated.end == (3, "plateau", False)
    assert ungated.result["outcome"]["answer"] == "Wrong voltage" and ungated.end == (3, "plateau", False)
    refused = [a for r in gated.result["rounds"] for a in r["refused"]]
    assert any(a["q"] < a["tau_q"] and a["crit"] >= a["tau_crit"] for a in refused), "it was the Q gate"
    assert not any(a["crit"] >= a["tau_crit"] for r in ungated.result["rounds"] for a in r["refused"])


# ---------------------------------------------------------------- how it may be asked


def test_what_the_plans_queries_find_enters_the_next_round(bench: Bench) -> None:
    """Three passages to begin with, so that there is more to be found."""
    asked = bench.ask(
        "diagnosis", "--close-the-loop", "--set", "maci.k_ret=3", "--round-limit", "3", "--preset", "paper"
    )
    assert asked.end == (3, "round_limit", False)
    posts = shown(bench, asked.sid)
    first, *later = [p["body"] for p in posts if p["kind"] == "passages"]
    assert [p["id"] for p in first["passages"]] == ["p1", "p2", "p3"] and not first["queries"]
    assert later and all(more["queries"] for more in later)
    assert later[0]["passages"][0]["id"] == "p4"
    texts = [collapse(p["text"]) for body in (first, *later) for p in body["passages"]]
    assert len(set(texts)) == len(texts), "only what is new"
    new = {p["id"] for body in later for p in body["passages"]}
    said = [p["body"]["spans"] for p in posts if p["kind"] in ("argument", "refused") and p["round"] > 1]
    assert new & {span["passage"] for spans in said for span in spans}, "and it is cited"
    assert {p["kind"] for p in posts if p["round"] == 1} >= {"argument", "signals", "plan"}


def shown(bench: Bench, sid: str) -> list[dict[str, Any]]:
    """All posts of a session."""
    found: list[dict[str, Any]] = bench.front.json("sessions", "show", sid, "--json")["posts"]
    return found


def test_open_outcomes_are_proposed_and_merged(bench: Bench) -> None:
    asked = bench.ask("diagnosis", "--round-limit", "1", given=False)
    assert asked.certificate["merged_by"] == "analyst"
    merged = next(p["body"]["groups"] for p in shown(bench, asked.sid) if p["kind"] == "outcomes")
    assert len(merged) >= 2 and set(asked.result["outcome"]["mixture"]) == {group["name"] for group in merged}
    assert asked.result["outcome"]["answer"] == "Fusarium wilt"


def test_ordered_outcomes_are_measured_by_wasserstein(bench: Bench) -> None:
    scale = "Drought stress, Root rot, Verticillium wilt, Fusarium wilt"
    asked = bench.ask("diagnosis", "--outcomes", scale, "--ordered", "--round-limit", "1", given=False)
    assert asked.certificate["disagreement"] == "wasserstein"
    held = [{s["outcome"]: s["p"] for s in b} for b in asked.result["rounds"][0]["beliefs"].values()]
    places = [o.strip() for o in scale.split(",")]
    assert set(asked.result["outcome"]["mixture"]) == set(places)
    below = [[sum(b.get(o, 0) for o in places[: i + 1]) for i in range(3)] for b in held]
    assert asked.signals[0]["jsd"] == pytest.approx(sum(abs(x - y) for x, y in zip(*below, strict=True)) / 3, abs=1e-6)


def test_three_debaters(bench: Bench) -> None:
    asked = bench.ask("diagnosis", "--debaters", "3", "--round-limit", "2")
    assert set(asked.signals[0]["weights"]) == {"debater_1", "debater_2", "debater_3"}
    assert sum(asked.signals[-1]["weights"].values()) == pytest.approx(1)
    assert len({json.dumps(b) for b in asked.result["rounds"][0]["beliefs"].values()}) == 3
    assert {f"debater_{i}" for i in (1, 2, 3)} < set(asked.result["usage"]["by_seat"])


def test_a_dry_run_says_what_it_may_come_to_and_asks_nothing(bench: Bench) -> None:
    asked = bench.ask("diagnosis", "--round-limit", "2", "--close-the-loop", "--dry-run")
    assert asked.code == 0 and asked.result["rounds"] == 2 and asked.result["shortest_most"]["turns"] == 10
    seats = {s["seat"]: s["most"]["turns"] for s in asked.result["seats"]}
    assert seats == {
        "debater_1": 6, "debater_2": 6, "judge_1": 4, "judge_2": 4, "judge_3": 4, "analyst": 4, "helper": 8,
    }  # fmt: skip


# ---------------------------------------------------------------- afterwards


def test_replay_under_another_rule_says_where_the_record_ends(bench: Bench, deadlock: str) -> None:
    sid = re.search(r"^session (\w+)$", deadlock, re.M)
    assert sid is not None
    out = bench.told("replay", sid[1], "--set", "maci.tau_stop=3")
    changed, first, *_, last = out.splitlines()
    assert changed == "tau_stop: 3 in place of 2"
    assert first.startswith("another course from step ") and last.endswith(" recorded events carried it")
    assert "recorded run stops: plateau and asks round 2 (plan), this one asks round 3 (argue)" in first
    assert first.endswith("was not recorded: the record carries it no further") and "this run: stops" not in out


def test_it_is_exported_in_every_form(bench: Bench) -> None:
    asked, folder = bench.ask("diagnosis"), bench.front.folder
    for form in ("jsonl", "json", "markdown", "html"):
        assert bench.front.run("sessions", "export", asked.sid, "--format", form, "-o", f"export.{form}")[0] == 0
    text = {form: (folder / f"export.{form}").read_text() for form in ("jsonl", "json", "markdown", "html")}
    assert len(text["jsonl"].splitlines()) > 16 and msgspec.json.decode(text["json"])
    for form in ("markdown", "html"):
        assert (
            "Fusarium wilt" in text[form]
            and "handbook-of-wilts.md" in text[form]
            and re.search(r"\ba\d+\b", text[form])
        )
    assert text["html"].lstrip().startswith("<!") and "<script" not in text["html"]


# ---------------------------------------------------------------- what is refused


def of(*more: str, given: bool = False) -> tuple[str, ...]:
    return Bench.command("diagnosis", *more, given=given)


BARE = ("ask", "q", "--protocol", "maci", "--outcomes", "a, b")
BAD = [
    (of("--outcomes", "twice.txt"), "--outcomes", "got 'yes', two outcomes are the same: 'Yes' and 'yes'"),
    (of("--outcomes", "a, b, a."), "--outcomes", "got 'a.', two outcomes are the same: 'a' and 'a.'"),
    (of("--outcomes", "a,,b"), "--outcomes", "got 'a,,b': nothing stands between two of the commas"),
    (of("--ordered"), "--ordered", "what is open has no order"),
    (BARE, "--evidence", "got none that the helper holds; maci gates arguments by the documents that they cite"),
    ((*BARE, "--evidence", "nothing"), "--evidence", "can be read: "),
    ((*BARE, "--evidence", "blank"), "--evidence", "can be read: "),
    (
        of("--set", "maci.cross_family=demand", given=True), "maci.cross_family",
        "demand, but judges are extractive and debaters extractive; start a judge of another model family",
    ),
    (of("--budget-calls", "7", given=True), "--budget-calls", "limit 7, one round may take 10"),
]  # fmt: skip


@pytest.mark.parametrize(("command", "field", "why"), BAD, ids=[f"{f}-{i}" for i, (_, f, _) in enumerate(BAD)])
def test_bad_input_is_one_document_that_names_its_field(
    bench: Bench, command: tuple[str, ...], field: str, why: str
) -> None:
    folder = bench.front.folder
    (folder / "twice.txt").write_text("Yes\nno\nyes\n")
    (folder / "nothing").mkdir(exist_ok=True)
    (folder / "blank").mkdir(exist_ok=True)
    (folder / "blank" / "a.md").write_text(" \n")
    code, out, err = bench.front.run(*command, "--json")
    error = json.loads(out)["error"]
    assert (code, error["field"]) == (2, field) and why in error["message"]
    assert err in ("", f"parley: {error['message']}\n")
