"""Gates, signals and tests of a measured debate in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from parley.client.show.palette import seat_names
from parley.client.text import count, line
from parley.client.untrusted import items, mapping, value_as_text
from parley.schemas.belief import Belief, Share, leading
from parley.schemas.protocols.maci.messages import Met, Outcome, Ruled, Score

_WIDE = 300
COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("jsd", "D", "disagreement of the beliefs"),
    ("overlap", "O", "overlap of the cited evidence"),
    ("q", "Q", "evidence quality"),
    ("crit", "CRIT", "quality of the arguments"),
    ("entropy", "H", "entropy of the mixture, normalised"),
    ("information_gain", "IG", "information gained in the round"),
    ("r_i", "r_I", "progress of information"),
    ("r_d", "r_D", "progress of disagreement"),
    ("pi_i", "π_I", "information stands still"),
    ("pi_d", "π_D", "disagreement stands still"),
    ("cl", "CL", "contentiousness"),
    ("tau_q", "τ_Q", "gate on evidence quality"),
    ("tau_crit", "τ_CRIT", "gate on argument quality"),
)
"""Field of Signals, its sign, what it is: wherever signals are named."""


def figure(value: float | bool | None) -> str:
    """A signal or dial as it is shown: `0.23`; a flag `up` or `down`; `–` for what there is not."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "up" if value else "down"
    return f"{value:.2f}"


def top(belief: Belief | Mapping[str, float], most: int, answer: str = "") -> list[Share]:
    """The most probable outcomes, at most `most` of them; of equals the answer first, then those named first."""
    shares: Sequence[Share] = (
        [Share(outcome=o, p=p) for o, p in belief.items()] if isinstance(belief, Mapping) else belief
    )
    return sorted(shares, key=lambda s: (-s.p, s.outcome != answer))[:most]


# -- arguments and beliefs


def title(body: Ruled) -> str:
    """`a7`; of a rebuttal `a7 against a3`."""
    return line(body.id) + (f" against {line(body.rebuts_id)}" if body.rebuts_id else "")


def advocate_words(body: Ruled) -> str:
    """What a devil's advocate's argument speaks for, and whether it is a test."""
    tests = "" if body.tests else "; judges hold that it does not speak against what all hold, so it tests nothing"
    return f"as devil's advocate, for {line(body.speaks_for, 60)}{tests}"


def score_words(score: Score) -> str:
    """`0.80 (evidence 0.70, logic 0.80, relevance 0.90)`, and how validly the claim follows from each reason."""
    parts = f"evidence {score.evidence:.2f}, logic {score.logic:.2f}, relevance {score.relevance:.2f}"
    links = f", links {' '.join(f'{v:.2f}' for v in score.links)}" if score.links else ""
    return f"{score.composite:.2f} ({parts}{links})"


def met_words(met: Met) -> str:
    """`a7 fails: ...`, or what it takes from the answer."""
    return f"{met.argument} {'fails' if met.fails else 'takes something'}: {met.why}"


def most_held(belief: Belief) -> str:
    """The most probable outcome; empty where several are."""
    most = leading({share.outcome: share.p for share in belief})
    return most[0] if len(most) == 1 else ""


def level_words(outcome: Outcome) -> str:
    """That no outcome is in front."""
    alike = leading(outcome.mixture)
    return f"{len(alike)} outcomes are equally likely, {outcome.mixture[alike[0]]:.2f} each" if alike else ""


# -- gates


def why_refused(ruled: Ruled) -> str:
    """Which gate, with the value and the threshold, or what nobody found out, and which gate it passed; empty for what
    was admitted."""
    if ruled.admitted:
        return ""
    gates = tuple(_gates(ruled))
    failed = [told for told, reached in gates if reached is False]
    if not failed:
        return " and ".join(told for told, _ in gates)
    others = [told for told, reached in gates if reached]
    return " and ".join(failed) + (f", although {others[0]}" if others else "")


def passed(ruled: Ruled) -> str:
    """Both values beside their thresholds."""
    return ", ".join(told for told, _ in _gates(ruled))


def _gates(ruled: Ruled) -> Iterable[tuple[str, bool | None]]:
    """Of each gate: the value beside its threshold, and whether it is reached; None: it is off, at 0."""
    for name, value, at, unknown in (
        ("q", ruled.q, ruled.tau_q, "evidence not measured"),
        ("CRIT", ruled.crit, ruled.tau_crit, "not judged"),
    ):
        shown = unknown if value is None else f"{name} {_short(value, at)}"
        reached = at <= 0 if value is None else value >= at
        yield shown, None if reached and at <= 0 else reached


def _short(value: float, threshold: float) -> str:
    """`0.31 < 0.50`, with as many decimals as it takes to tell them apart."""
    apart = (d for d in (2, 3, 4, 6) if f"{value:.{d}f}" != f"{threshold:.{d}f}")
    decimals = 2 if value == threshold else next(apart, 9)
    return f"{value:.{decimals}f} {'<' if value < threshold else '≥'} {threshold:.{decimals}f}"


def unlike_words(rounds: Sequence[Mapping[str, Any]], record: Iterable[Ruled]) -> Iterator[str]:
    """What the gate on evidence kept out though the judges passed it, or would have kept out were it on."""
    refused = [ruled for told in rounds for ruled in map(mapping, items(told.get("refused")))]
    for r in refused:
        q, crit = r.get("q"), r.get("crit")
        if q is not None and q < r["tau_q"] and crit is not None and crit >= r["tau_crit"]:
            yield f"The judges passed it, q {q:.2f} refused it: {line(value_as_text(r.get('claim')), 200)}"
    if doubted := sum(ruled.doubted for ruled in record):
        yield f"q alone would have refused {doubted} of the admitted; maci.q_gate=true refuses them."


def warnings(outcome: Outcome, certificate: Mapping[str, Any]) -> Iterator[str]:
    """What speaks against trusting the outcome: few judges, or of one family; who was left out."""
    judges, families = mapping(certificate.get("judges")), mapping(certificate.get("judge_families"))
    seated, wanted = judges.get("seated"), judges.get("wanted")
    if isinstance(seated, int) and isinstance(wanted, int) and seated < wanted:
        yield f"{count(seated, 'judge')} scored, and {wanted} are wanted: start more, each another queue"
    if len(families) > 1 and len(set(families.values())) == 1:
        family = next(iter(families.values()))
        of = f"one model family ({family})" if family else "model families that are not known"
        yield f"judges of {of} may err alike"
    if not outcome.cross_family:
        yield "a judge is of a debater's model family, or of none known, and may favour it"
    if out := seat_names(outcome.left_out):
        yield f"left out, for want of a first belief: {out}"


# -- tests of a stop

_ORDER = ("agreement", "plateau", "stalemate", "budget", "round_limit")
_CONVERGES = ("agreement", "plateau")
_NEEDED = ("near_consensus", "one_answer", "one_mind", "confirmed", "heard")
"""Of a certificate: what convergence needs beside a reason."""
_WANTED = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}


def stop_lines(certificate: Mapping[str, Any]) -> Iterator[str]:
    """The reasons to stop with their tests, in the order in which they are asked, and what convergence needs beside
    them; nothing for a session that ended outside that order (cancelled, too few seats)."""
    stops = certificate.get("stops") or {}
    beside = [certificate[name] for name in _NEEDED if certificate.get(name)]
    rules = [(name, stops[name]["holds"], stops[name]["tests"]) for name in _ORDER if name in stops]
    if rules and beside:
        rules.append(("convergence", all(test["holds"] for test in beside), beside))
    for name, holds, tests in rules:
        yield f"{name.replace('_', ' ')}: {'holds' if holds else 'does not hold'}"
        yield from (f"  {'yes' if test.get('holds') else 'no'}: {_test_words(test)}" for test in tests)


def _test_words(test: Mapping[str, Any]) -> str:
    value, relation = test.get("value"), str(test.get("relation"))
    if isinstance(value, str):  # why the next round does not fit the budget; empty: it does
        return f"the next round: {line(value, _WIDE) or 'fits the budget'}"
    wanted = f"{_WANTED.get(relation, line(relation))} {_number(test.get('limit'))}"
    return f"{line(str(test.get('test')))}: {_number(value)}, wanted {wanted}"


def _number(value: Any) -> str:
    return "not known" if value is None else f"{value:.4g}" if isinstance(value, int | float) else line(str(value))


def tested(certificate: Mapping[str, Any]) -> bool:
    """Whether the debaters' agreement stood a devil's advocate whose admitted arguments they answered. Where agreement
    ends no debate (in the paper's reading), nobody was to test it."""
    stops = mapping(certificate.get("stops"))
    return "agreement" not in stops or bool(mapping(stops["agreement"]).get("holds"))


UNTESTED = "nobody answered an argument against it, so the agreement was not put to the test"
_SHORT = {
    "disagreement": "disagreement is {value}, {limit} at most is wanted",
    "most probable outcomes": "{value} outcomes are equally likely",
    "least that a debater gives to the answer that all hold": "a debater gives it no more than one half",
    "debaters that hold the most widely held answer": "{value} hold the most widely held answer, not {limit}",
    "admitted arguments of a devil's advocate against it, which all others were shown and answered": (
        "nobody has answered an argument against it"
    ),
    "most that a debater took from it in each round since, together": "a debater took {value} from it",
    "farthest moves of a belief in these rounds, together": "beliefs moved by {value}",
}
"""Test of a certificate -> what it means that it failed."""


def kept_apart(certificate: Mapping[str, Any]) -> str:
    """The first test of agreement or plateau that failed, in short; empty where it converged, or nothing was tested."""
    stops = mapping(certificate.get("stops"))
    if not stops or certificate.get("converged"):
        return ""
    tests = [test for name in _CONVERGES for test in items(mapping(stops.get(name)).get("tests"))]
    for test in map(mapping, (certificate.get("one_answer"), certificate.get("near_consensus"), *tests)):
        name, value = value_as_text(test.get("test")), test.get("value")
        if test and not test.get("holds") and value is not None:
            told = _SHORT.get(name, f"{line(name)} is {{value}}, {{limit}} is wanted")
            return told.format(value=f"{value:.2g}", limit=f"{test.get('limit'):.2g}")
    return ""
