"""Gates, signals and tests of a measured debate in words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from parley.client.show.card import StopRule, StopTest
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


_NOT_WORTH = "q measures how near quotations are to the subject of the question, not what they prove"


def unlike_words(rounds: Sequence[Mapping[str, Any]], record: Iterable[Ruled]) -> Iterator[str]:
    """What the gate on evidence kept out though the judges passed it, or would have kept out were it on."""
    refused = [ruled for told in rounds for ruled in map(mapping, items(told.get("refused")))]
    kept_out = [
        r
        for r in refused
        if r.get("q") is not None and r["q"] < r["tau_q"] and r.get("crit") is not None and r["crit"] >= r["tau_crit"]
    ]
    if kept_out:
        yield (
            f"The judges passed {len(kept_out)} of the refused, and q alone refused them"
            f" ({_range([r['q'] for r in kept_out])}); {_NOT_WORTH}. maci.q_gate=false admits all that the judges pass."
        )
        claims = dict.fromkeys(value_as_text(r["claim"]) for r in kept_out if r.get("claim"))
        yield from (f"  judges passed it, q refused it: {line(claim, 200)}" for claim in claims)
    if doubted := [ruled.q or 0.0 for ruled in record if ruled.doubted]:
        yield (
            f"q alone would have refused {len(doubted)} of the admitted ({_range(doubted)}), and is not asked;"
            f" {_NOT_WORTH}. maci.q_gate=true refuses them."
        )


def _range(figures: Sequence[float]) -> str:
    low, high = (f"{figure:.2f}" for figure in (min(figures), max(figures)))
    return low if low == high else f"{low} to {high}"


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


def stops_of(certificate: Mapping[str, Any]) -> list[StopRule]:
    """The reasons that a certificate tests, in the order in which they are asked, and what convergence needs beside
    them; none for a session that ended outside that order (cancelled, too few seats)."""
    stops = certificate.get("stops") or {}
    rules = [
        StopRule(name=name, holds=bool(stops[name]["holds"]), tests=tuple(map(_test_of, stops[name]["tests"])))
        for name in _ORDER
        if name in stops
    ]
    beside = tuple(_test_of(certificate[name]) for name in _NEEDED if certificate.get(name))
    if rules and beside:
        rules.append(StopRule(name="convergence", holds=all(t.holds for t in beside), tests=beside))
    return rules


def _test_of(test: Mapping[str, Any]) -> StopTest:
    """One of them."""
    value, limit, holds = test.get("value"), test.get("limit"), bool(test.get("holds"))
    if isinstance(value, str):  # why the next round does not fit the budget; empty: it does
        return StopTest(what="the next round", value=line(value, _WIDE) or "fits the budget", wanted="", holds=holds)
    relation = _WANTED.get(str(test.get("relation")), line(str(test.get("relation"))))
    return StopTest(
        what=line(str(test.get("test"))), value=_number(value), wanted=f"{relation} {_number(limit)}", holds=holds
    )


def _number(value: Any) -> str:
    return "not known" if value is None else f"{value:.4g}" if isinstance(value, int | float) else line(str(value))


def tested(certificate: Mapping[str, Any]) -> bool:
    """Whether the debaters' agreement stood a devil's advocate whose admitted arguments they answered. Where agreement
    ends no debate (in the paper's reading), nobody was to test it."""
    stops = mapping(certificate.get("stops"))
    return "agreement" not in stops or bool(mapping(stops["agreement"]).get("holds"))


UNTESTED = "nobody answered an argument against it, so the agreement was not put to the test"
_HELD, _TIED = "debaters that hold the most widely held answer", "most probable outcomes"
_SURE = "least that a debater gives to the answer that all hold"
_ATTACKED = "admitted arguments of a devil's advocate against it, which all others were shown and answered"
_YIELDED = "most that a debater took from it in each round since, together"
_SHORT = {
    "disagreement": "disagreement is {value}, {limit} at most is wanted",
    _TIED: "{value} outcomes are equally likely",
    _SURE: "a debater gives it no more than one half",
    _ATTACKED: "nobody has answered an argument against it",
    _YIELDED: "a debater took {value} from it",
    "farthest moves of a belief in these rounds, together": "beliefs moved by {value}",
    "admitted arguments of a devil's advocate that the others have not answered": (
        "a devil's advocate's arguments are still to be answered"
    ),
    "rounds with a plateau of information": "beliefs were still moving",
    "rounds with a plateau of disagreement": "beliefs were still moving",
    "evidence quality": "evidence quality {value} is below {limit}",
    "overlap": "overlap of evidence {value} is below {limit}",
}
"""Test of a certificate -> what it means that it failed."""
_APART = {_HELD, "disagreement", _SURE}
_ATTACK = {_ATTACKED, _YIELDED, _SURE}


def kept_apart(certificate: Mapping[str, Any]) -> list[str]:
    """The tests of agreement and plateau that failed, in short. None where it converged, or nothing was tested."""
    stops = mapping(certificate.get("stops"))
    if not stops or certificate.get("converged"):
        return []
    tests = [test for name in _CONVERGES for test in items(mapping(stops.get(name)).get("tests"))]
    all_tests = map(mapping, (certificate.get("near_consensus"), certificate.get("one_answer"), *tests))
    failed = [(value_as_text(test.get("test")), test) for test in all_tests if test and not test.get("holds")]
    names = {name for name, _ in failed}
    told = []
    for name, test in failed:
        value, limit = test.get("value"), test.get("limit")
        if value is None or (name in _ATTACK and (_APART - {name}) & names):
            continue  # nothing was measured, or there was nothing to be argued against
        if name == _HELD and _TIED in names:
            continue  # nobody holds one answer, so nobody holds another one
        shown = _number(value) if name == _TIED else figure(value)
        told.append(_SHORT.get(name, "").format(value=shown, limit=figure(limit)))
    return list(dict.fromkeys(text for text in told if text))


_SPENT = {"tokens": "tokens", "calls": "calls of seats (what is computed without a model is counted, too)"}


def spent_words(spent: Mapping[str, Any]) -> str:
    """What was spent when the debate stopped: the usage of the whole session counts the final plan too, and counts
    model requests alone."""
    parts = [f"{spent[name]:,} {what}" for name, what in _SPENT.items() if isinstance(spent.get(name), int)]
    if lost := spent.get("unaccounted_tokens"):
        parts.append(f"at most {lost:,} tokens of turns that were lost")
    return ", ".join(parts)
