"""The MACI protocol's posts, rounds and outcome in words."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from parley.client.protocols.maci.story import KINDS, Story, blind_tie, body_of, passed, top, why_refused
from parley.client.show.cards import StopRule, StopTest
from parley.client.show.lines import StyledLine
from parley.client.text import count, line
from parley.client.untrusted import items, mapping, words
from parley.schemas.belief import Belief
from parley.schemas.control import Signals
from parley.schemas.post import Post
from parley.schemas.protocols.maci.messages import (
    Blind,
    Case,
    Crit,
    Merged,
    Met,
    Outcome,
    Passages,
    Plan,
    Round,
    Ruled,
    Score,
)

Dials = tuple[float | None, float | None, float | None]
"""Contentiousness and the two gates."""

POSTS = frozenset(KINDS)
_TOP = 5
_NAME = 60
_WIDE = 300
_TABLE = 78
"""Columns of the table of signals, where two spaces between its columns leave room for that."""

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
"""Field of Signals, its sign, what it is: the columns of every table of rounds."""


def figure(value: float | bool | None, decimals: int = 2) -> str:
    """A signal or dial as it is shown: `0.23`; a flag `up` or `down`; `–` for what there is not."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "up" if value else "down"
    return f"{value:.{decimals}f}"


def shares(belief: Belief | Mapping[str, float], most: int = _TOP) -> str:
    """`HCV 0.40, HBV 0.30 and 3 more`, the most probable first."""
    shown = ", ".join(f"{line(s.outcome, _NAME)} {s.p:.2f}" for s in top(belief, most))
    return shown + (f" and {len(belief) - most} more" if len(belief) > most else "")


def foot(post: Post) -> str:
    """The last round's signals and the dials of the next, for one line; empty for any other post."""
    body = body_of(post)
    if not isinstance(body, Round):
        return ""
    s = body.signals
    cl, tau_q, tau_crit = coming(body) or (s.cl, s.tau_q, s.tau_crit)
    return f"{signal_words(s)} · CL {figure(cl)} τ_Q {figure(tau_q)} τ_CRIT {figure(tau_crit)}"


def coming(body: Round) -> Dials | None:
    """The dials of the round after this one; None: there is none."""
    dials = (body.next_cl, body.next_tau_q, body.next_tau_crit)
    return None if all(v is None for v in dials) else dials


def dial_words(dials: Dials) -> str:
    """`CL 0.80, τ_Q 0.50, τ_CRIT 0.30`."""
    return ", ".join(f"{sign} {figure(v)}" for sign, v in zip(("CL", "τ_Q", "τ_CRIT"), dials, strict=True))


def post_lines(post: Post, width: int) -> Iterator[StyledLine] | None:
    """One post in lines; None where it is none that this version can read."""
    body = body_of(post)
    if body is None:
        return None
    say: Callable[[Post, Any, int], Iterator[StyledLine]] = _SAY[type(body)]
    return say(post, body, width)


def _passages(post: Post, body: Passages, width: int) -> Iterator[StyledLine]:
    documents = ", ".join(line(d, _NAME) for d in dict.fromkeys(p.document for p in body.passages))
    ends = list(dict.fromkeys(line(p.id) for p in (*body.passages[:1], *body.passages[-1:])))
    ids = f"{' to '.join(ends)}, " if ends else ""
    quality = "" if body.q is None else f"; Q {figure(body.q)}"
    many = count(len(body.passages), "passage")
    if body.queries:
        yield "score", f"  {many} from the plan's queries ({ids}{documents or 'nothing new'}){quality}"
        for query in body.queries:
            yield "quiet", f"      searched: {line(query, width)}"
    else:
        yield "quiet", f"  {many} for the question ({ids}{documents or 'no document'}){quality}"


def _blind(post: Post, body: Blind, width: int) -> Iterator[StyledLine]:
    yield "seat", f"  {line(post.seat)}, alone: {shares(body.belief)}"
    if body.reasoning:
        yield "quiet", f"      {line(body.reasoning, width)}"


def _merged(post: Post, body: Merged, width: int) -> Iterator[StyledLine]:
    yield "score", f"  {count(len(body.groups), 'outcome')}: {', '.join(line(g.name, _NAME) for g in body.groups)}"
    for group in body.groups:
        others = [m for m in group.members if m != group.name]
        if others:
            yield "quiet", f"      {line(group.name, _NAME)} is also {', '.join(line(m, _NAME) for m in others)}"


def _ruled(post: Post, body: Ruled, width: int) -> Iterator[StyledLine]:
    who = f"{line(post.seat)}, " if post.seat else ""
    who += title(body)
    if body.admitted:
        yield "seat", f"  {who}, admitted ({passed(body)}): {line(body.claim, width)}"
    else:
        yield "score", f"  {who}, refused ({why_refused(body)}): {line(body.claim, width)}"
    if body.speaks_for:
        yield "quiet", f"      {advocate_words(body)}"
    for reason in body.reasons:
        yield "quiet", f"      since {line(reason, width)}"
    for span in body.spans:
        yield "quiet", f"      {line(span.passage)}: “{line(span.quote, width)}”"
    for k, score in enumerate(body.scores, 1):
        said = f"; {line(score.justification, width)}" if score.justification else ""
        yield "quiet", f"      judge {k} of it: {score_words(score)}{said}"


def advocate_words(body: Ruled) -> str:
    """What a devil's advocate's argument speaks for, and whether it is a test."""
    tests = "" if body.tests else "; judges hold that it does not speak against what all hold, so it tests nothing"
    return f"as devil's advocate, for {line(body.speaks_for, _NAME)}{tests}"


def title(body: Ruled) -> str:
    """`a7`; of a rebuttal `a7 against a3`."""
    return line(body.id) + (f" against {line(body.rebuts_id)}" if body.rebuts_id else "")


def score_words(score: Score) -> str:
    """`0.80 (evidence 0.70, logic 0.80, relevance 0.90)`, and how validly the claim follows from each reason."""
    parts = f"evidence {score.evidence:.2f}, logic {score.logic:.2f}, relevance {score.relevance:.2f}"
    links = f", links {' '.join(f'{v:.2f}' for v in score.links)}" if score.links else ""
    return f"{score.composite:.2f} ({parts}{links})"


def _case(post: Post, body: Case, width: int) -> Iterator[StyledLine]:
    change = f": {line(body.changed, width)}" if body.changed else ""
    argued = count(len(body.arguments), "argument")
    if body.answers:
        argued = f"answers {count(len(body.answers), 'argument')} of the devil's advocate"
    yield "seat", f"  {line(post.seat)}, {argued}, would hold {shares(body.belief)}{change}"
    for met in body.answers:
        yield "quiet", f"      {met_words(met, width)}"
    for name in body.apart:
        yield "score", f"      {line(name, _NAME)} is another answer than it was taken for, says {line(post.seat)}"


def met_words(met: Met, width: int = _WIDE) -> str:
    """`a7 fails: ...`, or what it takes from the answer."""
    return f"{line(met.argument)} {'fails' if met.fails else 'takes something'}: {line(met.why, width)}"


def _crit(post: Post, body: Crit, width: int) -> Iterator[StyledLine]:
    scores = ", ".join(f"a{score.item} {score.composite:.2f}" for score in body.scores)
    yield "quiet", f"  {line(post.seat)} scores {scores or 'nothing'}"


def _signals(post: Post, body: Round, width: int) -> Iterator[StyledLine]:
    s = body.signals
    yield "score", f"  round {s.round}: {signal_words(s)}"
    dials, following = (s.cl, s.tau_q, s.tau_crit), coming(body)
    if s.cl is not None:
        moved = f" → {dial_words(following)}" if following not in (None, dials) else ""
        yield "score", f"      dials: {dial_words(dials)}{moved}"
    elif following is not None:
        yield "score", f"      dials to begin with: {dial_words(following)}"
    if s.round:
        yield "quiet", f"      arguments: {len(body.admitted)} admitted, {body.refused} refused"
    if s.advocate:
        yield "quiet", f"      {attacked(s, 0 if s.arguments == 0 else None)}"
    if body.next_advocate:
        yield "score", f"      {named(body)}"
    if s.held:
        yield "score", "      the monotone gate kept the beliefs of the round before: they would have drawn apart"
    for seat, belief in body.beliefs.items():
        weight = f" (weight {s.weights[seat]:.2f})" if seat in s.weights else ""
        yield "seat", f"      {line(seat)}{weight}: {shares(belief)}"
    yield "quiet", f"      mixture: {shares(s.mixture)}"


def attacked(s: Signals, brought: int | None) -> str:
    """Who was devil's advocate in a round, how many arguments it brought (None: not known), and whether anybody gave
    way."""
    gave = f"a debater took {s.yielded:.2f} from it" if s.yielded else "nobody took anything from it"
    who = line(str(s.advocate))
    if brought == 0:
        return f"{who} was devil's advocate, and brought no argument against what all held; {gave}"
    did = "was" if brought is None else "argued as"
    return f"{who} {did} devil's advocate against what all held; {gave}"


def tested(certificate: Mapping[str, Any]) -> bool:
    """Whether the debaters' agreement stood a devil's advocate whose admitted arguments they answered. Where agreement
    ends no debate (in the paper's reading), nobody was to test it."""
    stops = mapping(certificate.get("stops"))
    return "agreement" not in stops or bool(mapping(stops["agreement"]).get("holds"))


def named(body: Round) -> str:
    """Who is to be devil's advocate in the next round, and why."""
    shared = line(str(body.signals.shared), _NAME)
    return f"all hold {shared}; {line(body.next_advocate)} is to argue against it as devil's advocate"


def signal_words(s: Signals) -> str:
    """A round's signals on one line: `D 0.23, O 0.40, Q 0.61, ...`, and which flags are up."""
    parts = [f"{sign} {figure(getattr(s, name))}" for name, sign, _ in COLUMNS[:6] if getattr(s, name) is not None]
    up = [sign for name, sign, _ in COLUMNS if name in ("pi_i", "pi_d") and getattr(s, name)]
    return ", ".join(parts) + (f"; {' and '.join(up)} up" if up else "")


def _plan(post: Post, body: Plan, width: int) -> Iterator[StyledLine]:
    yield from plan_lines(body, width)


def plan_lines(plan: Plan, width: int = _WIDE) -> Iterator[StyledLine]:
    """The plan, ranked, each with its query."""
    if not plan.tests:
        yield "quiet", "  plan: nothing to find out was named"
        return
    yield "score", f"  plan, to tell {', '.join(line(o, _NAME) for o in plan.outcomes)} apart:"
    for rank, test in enumerate(plan.tests, 1):
        yield "", f"    {rank}. {test.kind}, {test.gain:.2f} bits expected: {line(test.what, width)}"
        yield "quiet", f"       query: {line(test.query, width)}"


_SAY: dict[type, Callable[[Post, Any, int], Iterator[StyledLine]]] = {
    Passages: _passages, Blind: _blind, Merged: _merged, Case: _case, Crit: _crit, Ruled: _ruled, Round: _signals,
    Plan: _plan,
}  # fmt: skip


# ---------------------------------------------------------------- the end


_ORDER = ("agreement", "plateau", "stalemate", "no_gain", "budget", "round_limit")
_CONVERGES = ("agreement", "plateau")
_WANTED = {">=": "at least", ">": "more than", "<=": "at most", "<": "less than"}


def stops_of(certificate: Mapping[str, Any]) -> list[StopRule]:
    """The reasons that a certificate tests, in the order in which they are asked; none for a session that ended outside
    that order (cancelled, too few seats)."""
    stops = certificate.get("stops") or {}
    return [
        StopRule(name=name, holds=bool(stops[name]["holds"]), tests=tuple(map(test_of, stops[name]["tests"])))
        for name in _ORDER
        if name in stops
    ]


def test_of(test: Mapping[str, Any]) -> StopTest:
    """One of them."""
    value, limit = test.get("value"), test.get("limit")
    what = line(str(test.get("test")))
    holds = bool(test.get("holds"))
    if isinstance(value, str):  # why the next round does not fit the budget; empty: it does
        return StopTest(what="the next round", value=line(value, _WIDE) or "fits the budget", wanted="", holds=holds)
    relation = _WANTED.get(str(test.get("relation")), line(str(test.get("relation"))))
    return StopTest(what=what, value=_number(value), wanted=f"{relation} {_number(limit)}", holds=holds)


def _number(value: Any) -> str:
    return "not known" if value is None else f"{value:.4g}" if isinstance(value, int | float) else line(str(value))


def stop_lines(reason: str, certificate: Mapping[str, Any]) -> Iterator[StyledLine]:
    """Below a stop: the tests that decided."""
    for rule in stops_of(certificate):
        if rule.name == reason:
            yield from (("quiet", f"      {test.words}") for test in rule.tests)
    yield from untested(certificate)
    if reason == "plateau" and certificate.get("near_consensus"):
        yield "quiet", f"      {agreement(certificate)}"
    first, last = certificate.get("gates_first"), certificate.get("gates")
    if reason == "stalemate" and first and last and last["tau_crit"] > first["tau_crit"]:
        yield "quiet", f"      its gate rose from {_number(first['tau_crit'])} to {_number(last['tau_crit'])} meanwhile"
    if not certificate.get("converged"):
        yield from failed_lines(certificate)


def untested(certificate: Mapping[str, Any]) -> Iterator[StyledLine]:
    """That the debaters agree and no argument against it was admitted, where the debate converged so."""
    if certificate.get("converged") and not tested(certificate):
        yield "score", f"      {UNTESTED}"


def failed_lines(certificate: Mapping[str, Any]) -> Iterator[StyledLine]:
    """Of each reason that would have been convergence: the tests that failed."""
    for rule in stops_of(certificate):
        failed = [test.words for test in rule.tests if not test.holds]
        if rule.name in _CONVERGES and failed:
            yield "quiet", f"      no {line(rule.name)}: {'; '.join(failed)}"
    for name in ("one_answer", "one_mind", "confirmed", "heard"):
        if (one := certificate.get(name)) and not one["holds"]:
            yield "quiet", f"      no convergence: {test_of(one).words}"


_ATTACKED = "admitted arguments of a devil's advocate against it, which all others were shown and answered"
_YIELDED = "most that a debater took from it in each round since, together"
_SURE = "least that a debater gives to the answer that all hold"
_MOVED = "farthest moves of a belief in these rounds, together"
_UNANSWERED = "admitted arguments of a devil's advocate that the others have not answered"
UNTESTED = "no admitted argument of a devil's advocate was met, so the agreement was not put to the test"
_HELD, _TIED = "debaters that hold the most widely held answer", "most probable outcomes"
_SHORT = {
    _HELD: "they hold different answers",
    "disagreement": "D {value} is above near_consensus {limit}",
    _TIED: "{value} outcomes are equally likely",
    _SURE: "a debater gives it no more than one half",
    _ATTACKED: "no admitted argument against it was met by all others",
    _YIELDED: "a debater took {value} from it",
    _MOVED: "beliefs moved by {value}",
    _UNANSWERED: "a devil's advocate's arguments are still to be met",
    "rounds with a plateau of information": "information still moved",
    "rounds with a plateau of disagreement": "disagreement still moved",
    "evidence quality": "Q {value} is below tau_q {limit}",
    "overlap": "O {value} is below tau_o {limit}",
}
"""Test of a certificate -> what it means that it failed."""
_APART = {_HELD, "disagreement", _SURE}
_ATTACK = {_ATTACKED, _YIELDED, _SURE}


def kept_apart(certificate: Mapping[str, Any]) -> str:
    """The tests of agreement and plateau that failed, in short: `D 0.31 is above near_consensus 0.10; O 0.12 is below
    tau_o 0.30`. Empty where it converged, or where nothing was tested."""
    stops = mapping(certificate.get("stops"))
    if not stops or certificate.get("converged"):
        return ""
    tests = [test for name in _CONVERGES for test in items(mapping(stops.get(name)).get("tests"))]
    all_tests = map(mapping, (certificate.get("near_consensus"), certificate.get("one_answer"), *tests))
    failed = [(words(test.get("test")), test) for test in all_tests if test and not test.get("holds")]
    names = {name for name, _ in failed}
    texts = []
    for name, test in failed:
        value, limit = test.get("value"), test.get("limit")
        if name in _ATTACK and (value is None or (_APART - {name}) & names):
            continue  # there was nothing to be argued against
        if name == _HELD and _TIED in names:
            continue  # nobody holds one answer, so nobody holds another one
        shown = _number(value) if name == _TIED else figure(value)
        texts.append(_SHORT.get(name, "").format(value=shown, limit=figure(limit)))
    return "; ".join(dict.fromkeys(text for text in texts if text))


def agreement(certificate: Mapping[str, Any]) -> str:
    """Whether they agree, with the figure."""
    test = test_of(certificate["near_consensus"])
    return f"disagreement {test.value}; convergence needs {test.wanted}: {'yes' if test.holds else 'no'}"


def certificate_words(certificate: Mapping[str, Any]) -> Iterator[str]:
    """Every predicate with value and threshold."""
    yield "Why it stopped: the first of these reasons of which every test holds."
    for rule in stops_of(certificate):
        yield f"  {line(rule.name)}: {'holds' if rule.holds else 'does not hold'}"
        for test in rule.tests:
            yield f"    {'yes' if test.holds else 'no ':3} {test.words}"
    if certificate.get("converged") and not tested(certificate):
        yield f"  {UNTESTED}"
    if certificate.get("near_consensus"):
        yield f"  {agreement(certificate)}"
    if certificate.get("one_answer"):
        yield f"  convergence also needs one answer: {test_of(certificate['one_answer']).words}"
    if certificate.get("one_mind"):
        yield f"  and each debater's own belief in it: {test_of(certificate['one_mind']).words}"
    if certificate.get("confirmed"):
        yield f"  and that everybody saw what its merged words count as: {test_of(certificate['confirmed']).words}"
    if certificate.get("heard"):
        yield f"  and that everybody was there: {test_of(certificate['heard']).words}"
    if certificate.get("held"):
        rounds = ", ".join(str(t) for t in certificate["held"])
        yield f"  rounds that the monotone gate held back, which count towards no plateau of disagreement: {rounds}"
    if spent := mapping(certificate.get("spent")):
        yield f"  {spent_words(spent)}"


def spent_words(spent: Mapping[str, Any]) -> str:
    """What was spent when the debate stopped: the usage of the whole session counts the final plan too, and counts
    model requests alone."""
    parts = [f"{spent[name]:,} {what}" for name, what in _SPENT.items() if isinstance(spent.get(name), int)]
    if lost := spent.get("unaccounted_tokens"):
        parts.append(f"at most {lost:,} tokens unaccounted")
    return f"spent when it stopped, before the final plan: {', '.join(parts)}"


_SPENT = {"tokens": "tokens", "calls": "calls of seats (what is computed without a model is counted, too)"}
TOLD = frozenset(
    {
        "reason",
        "round",
        "converged",
        "stops",
        "near_consensus",
        "one_answer",
        "one_mind",
        "confirmed",
        "heard",
        "held",
        "history",
    }
)
"""Keys of a certificate that are told in other words."""


def outcome_of(body: Mapping[str, Any]) -> Outcome:
    """A result's outcome."""
    return msgspec.convert(body, Outcome)


def outcome_lines(body: Mapping[str, Any], told: Story, certificate: Mapping[str, Any]) -> Iterator[StyledLine]:
    """What stands beside the answer: the mixture, the blind vote, the record. The plan was posted just before."""
    outcome = outcome_of(body)
    sure = "" if outcome.calibrated or not outcome.top else " (uncalibrated)"
    yield "", f"Mixture{sure}: {shares(outcome.top) or 'none'}"
    if outcome.vote:
        same = "the same" if outcome.vote == outcome.answer else "another answer"
        name, tie = line(outcome.vote, _WIDE), blind_tie(told, outcome.vote)
        vote = f"a tie ({tie}), which the mixture of their beliefs settled for {name}" if tie else name
        yield "quiet", f"Vote of the blind round: {vote} ({same})"
    for text in regime_words(outcome.regime):
        yield "quiet", text
    yield "quiet", f"Arguments: {len(outcome.record)} admitted, {outcome.refused} refused"
    yield from (("score", text) for text in warnings(outcome, certificate))


def warnings(outcome: Outcome, certificate: Mapping[str, Any]) -> Iterator[str]:
    """What speaks against trusting the outcome."""
    yield from _few_judges(certificate)
    if not outcome.cross_family:
        yield "A judge is of the same model family as a debater, or of none known: its scores may favour its own kind"
    for seat in outcome.left_out:
        yield f"{line(seat)} gave no belief of its own at first and was left out"


def _few_judges(certificate: Mapping[str, Any]) -> Iterator[str]:
    """That there were fewer judges than wanted, or several of one model family."""
    judges, families = mapping(certificate.get("judges")), mapping(certificate.get("judge_families"))
    seated, wanted = judges.get("seated"), judges.get("wanted")
    if isinstance(seated, int) and isinstance(wanted, int) and seated < wanted:
        yield f"{count(seated, 'judge')} scored, and {wanted} are wanted: start more, each another queue"
    if len(families) > 1 and len(set(families.values())) == 1:
        family = words(next(iter(families.values())))
        of = f"one model family ({line(family)})" if family else "no known family"
        yield f"All {len(families)} judges are of {of}: they may err alike"


def regime_words(regime: Mapping[str, Any]) -> Iterator[str]:
    """Whether a vote would have done (K.1, K.5), and why."""
    if regime.get("words"):
        yield f"Whether it was worth a debate: {line(str(regime['words']), _WIDE)}"


# ---------------------------------------------------------------- explained


def explained(story: Story) -> Iterator[str]:
    """The dials' history, and round by round what was admitted, refused and believed."""
    yield "Signals and the dials in force, by round:"
    yield f"  {'; '.join(f'{sign}: {what}' for _, sign, what in COLUMNS)}."
    yield from (f"  {text}" for text in table([r.signals for r in story.rounds]))
    for body in story.rounds:
        t = body.signals.round
        yield f"Round {t}: {signal_words(body.signals)}."
        for heard in story.arguments:
            if heard.round == t:
                fate = f"admitted, {passed(heard.ruled)}"
                verdict = fate if heard.ruled.admitted else f"refused, {why_refused(heard.ruled)}"
                met = f", against {line(heard.ruled.rebuts_id)}" if heard.ruled.rebuts_id else ""
                whose = f"{line(heard.ruled.id)} of {line(heard.seat)}{met}"
                yield f"  {whose}: {verdict}: {line(heard.ruled.claim, 200)}"
        for seat, belief in body.beliefs.items():
            yield f"  {line(seat)} holds {shares(belief)}"
        if advocate := body.signals.advocate:
            replies = [c.case for c in story.cases if (c.round, c.seat) == (t, advocate)]
            yield f"  {attacked(body.signals, len(replies[-1].arguments) if replies else None)}"
        if body.next_advocate:
            yield f"  {named(body)}"
        if body.signals.held:
            yield "  the monotone gate kept the beliefs of the round before"
        for seat in body.missing:
            yield f"  {line(seat)} was missing"


def table(rounds: Sequence[Signals]) -> Iterator[str]:
    """Signals and dials by round, one line each; the dials are those in force in that round."""
    rows = [("round", *(sign for _, sign, _ in COLUMNS))]
    rows += [(str(s.round), *(figure(getattr(s, name)) for name, _, _ in COLUMNS)) for s in rounds]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    between = "  " if sum(widths) + 2 * len(widths) <= _TABLE else " "
    for row in rows:
        yield between.join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True))
