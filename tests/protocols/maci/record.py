"""A MACI session's record, written by hand: what a person sees of it does not depend on how it came about."""

from typing import Any

import msgspec

from parley.client.records import Record
from parley.coordinator.schedulers import controller
from parley.schemas import log
from parley.schemas.belief import Share
from parley.schemas.control import Control, Signals
from parley.schemas.protocols.maci.messages import (
    Blind,
    Case,
    Crit,
    Group,
    Merged,
    Outcome,
    Passage,
    Passages,
    Ranked,
    RetrievalPlan,
    RoundSignals,
    Ruled,
    Score,
    Span,
)
from parley.schemas.result import Result, ResultUsage, SeatUsage, Stop
from parley.schemas.wire import encode, raw

replace = msgspec.structs.replace

SID = "maci1"
START_NS = 1_700_000_000_000_000_000


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """What agents and documents say: ordinary, or hostile."""

    question: str = "Which virus is behind the fever in the ward?"
    outcomes: tuple[str, ...] = ("dengue", "chikungunya", "zika")
    claim: str = "The low platelet count speaks for dengue."
    reason: str = "Platelets fall below 100,000 in most cases of dengue, and seldom in the other two."
    quote: str = "platelets 62,000 on day four"
    document: str = "ward/chart.md"
    justification: str = "The quotation carries the claim."
    reasoning: str = "The chart names platelets and no joint pain."
    what: str = "Is the NS1 antigen there?"
    query: str = "NS1 antigen result day 3 to 5"
    seat: str = "debater_2"


ORDINARY = Words()


def ruled(words: Words, number: int, *, admitted: bool, scores: bool = True) -> Ruled:
    """Argument `a<number>`; one that is refused fails at the Q gate."""
    score = Score(item=1, links=(0.8,), evidence=0.7, logic=0.8, relevance=0.9, justification=words.justification)
    return Ruled(
        id=f"a{number}", claim=words.claim, reasons=(words.reason,), spans=(Span(passage="p1", quote=words.quote),),
        q=0.62 if admitted else 0.31, crit=0.8, tau_q=0.5, tau_crit=0.3, admitted=admitted,
        scores=(score,) if scores else (),
    )  # fmt: skip


def signals(words: Words, t: int, **more: Any) -> Signals:
    """Round t: disagreement falls from 0.6 by 0.2 a round, contentiousness from 0.9 by 0.2."""
    first, *others = words.outcomes
    p = 0.5 + 0.1 * t
    values: dict[str, Any] = {
        "round": t, "jsd": max(0.0, 0.6 - 0.2 * t), "dispersion": 0.3, "overlap": 0.2 + 0.1 * t,
        "entropy": max(0.0, 0.9 - 0.1 * t), "q": 0.62, "crit": 0.8 if t else None,
        "reliability": {"debater_1": 0.5, words.seat: 0.5}, "weights": {"debater_1": 0.5, words.seat: 0.5},
        "mixture": {first: p} | {o: (1 - p) / len(others) for o in others},
    }  # fmt: skip
    if p > 0.5:
        values |= {"shared": first, "sharing": 2, "least": p}
    if t:
        values |= {
            "information_gain": 0.1, "r_i": 0.12, "r_d": 0.4, "pi_i": False, "pi_d": t > 1, "moved": 0.01,
            "crit_variance": 0.004,
            "cl": round(0.9 - 0.2 * (t - 1), 2), "tau_q": 0.5, "tau_crit": 0.3,
        }  # fmt: skip
    return Signals(**(values | more))


def round_(words: Words, t: int, **more: Any) -> RoundSignals:
    """The post `signals` of round t: an argument admitted and one refused."""
    found = signals(words, t, **more)
    belief = tuple(Share(outcome=o, p=p) for o, p in found.mixture.items())
    return RoundSignals(
        signals=found, beliefs={"debater_1": belief, words.seat: belief}, admitted=(f"a{2 * t - 1}",) if t else (),
        refused=1 if t else 0, next_cl=round(0.9 - 0.2 * t, 2), next_tau_q=0.5, next_tau_crit=0.3,
    )  # fmt: skip


def plan(words: Words) -> RetrievalPlan:
    """One test, 0.42 bits."""
    likely = tuple(Share(outcome=o, p=0.5) for o in words.outcomes)
    test = Ranked(what=words.what, kind="test", query=words.query, positive=likely, gain=0.42)
    return RetrievalPlan(outcomes=words.outcomes[:2], tests=(test,))


def stopped(words: Words, rounds: int, **more: Any) -> Stop:
    """The controller's own verdict after so many rounds, in which both flags are up from round 2 on. `more`: signals of
    the last round."""
    history = tuple(signals(words, t, **({"pi_i": t > 1} | (more if t == rounds else {}))) for t in range(rounds + 1))
    beliefs = {seat: tuple(history[-1].mixture.values()) for seat in ("debater_1", words.seat)}
    state = controller.State(
        outcomes=words.outcomes, rounds=history, beliefs=beliefs, reliability=history[-1].reliability, cl=0.5,
        tau_q=0.5, tau_crit=0.3,
    )  # fmt: skip
    found = controller.verdict(Control(round_limit=max(1, rounds), q_gate=True), state)
    assert found is not None
    return Stop(reason=found.reason, converged=found.converged, certificate=found.certificate)


def result(words: Words, rounds: int, stop: Stop) -> Result:
    """What it came to."""
    last = signals(words, rounds)
    arguments = [ruled(words, 2 * t - 1, admitted=True, scores=False) for t in range(1, rounds + 1)]
    outcome = Outcome(
        answer=words.outcomes[0], confidence=last.mixture[words.outcomes[0]], calibrated=False, source="mixture",
        mixture=last.mixture,
        top=tuple(Share(outcome=o, p=p) for o, p in last.mixture.items()), vote=words.outcomes[1],
        regime={"advice": "vote", "words": "a vote will do: 3 outcomes"}, record=tuple(arguments), refused=rounds,
        plan=plan(words), cross_family=False,
    )  # fmt: skip
    shown = [msgspec.to_builtins(round_(words, t)) | {"round": t, "missing": []} for t in range(rounds + 1)]
    usage = ResultUsage(
        turns=9, calls=9, input_tokens=4_000, output_tokens=900, estimated=False, cost_usd=0.0, unaccounted_turns=0,
        unaccounted_tokens=0, by_seat={words.seat: SeatUsage(turns=4, calls=4, input_tokens=2_000, output_tokens=400)},
    )  # fmt: skip
    return Result(
        session=SID, protocol="maci", status="finished", outcome=msgspec.to_builtins(outcome), stop=stop,
        rounds=tuple(shown), usage=usage, duration_s=12.5,
    )  # fmt: skip


def says(words: Words, rounds: int, stop: Stop | None) -> list[log.Say]:
    """Everything that is posted."""
    found: list[log.Say] = []

    def say(kind: str, t: int, body: object, seat: str = "", channel: str = "public") -> None:
        found.append(log.Say(channel=channel, kind=kind, round=t, body=raw(body), seat=seat))

    passage = Passage(id="p1", document=words.document, text=f"Seen: {words.quote}, and nothing else.")
    say("passages", 0, Passages(passages=(passage,), q=0.62))
    belief = tuple(Share(outcome=o, p=1 / len(words.outcomes)) for o in words.outcomes)
    for seat in ("debater_1", words.seat):
        say("blind", 0, Blind(belief=belief, reasoning=words.reasoning), seat, "scores")
    say("outcomes", 0, Merged(groups=tuple(Group(name=o, members=(o, f"{o}!")) for o in words.outcomes)))
    say("signals", 0, round_(words, 0))
    for t in range(1, rounds + 1):
        say("case", t, Case(belief=belief, changed=words.reasoning), words.seat, "scores")
        one, other = ruled(words, 2 * t - 1, admitted=True), ruled(words, 2 * t, admitted=False)
        scores = tuple(replace(r.scores[0], item=item) for item, r in ((2 * t - 1, one), (2 * t, other)))
        say("crit", t, Crit(scores=scores), "judge_1", "scores")
        say("argument", t, replace(one, scores=()), "debater_1")
        say("refused", t, other, words.seat, "scores")
        say("signals", t, round_(words, t))
        if t == 1:
            say("passages", 1, Passages(
                passages=(Passage(id="p2", document=words.document, text=words.quote),), queries=(words.query,),
            ))  # fmt: skip
    say("plan", rounds, plan(words))
    if stop is not None:
        say("stop", 0, stop, channel="control")
        say("closed", 0, result(words, rounds, stop), channel="control")
    return found


def record(words: Words = ORDINARY, rounds: int = 3, stop: Stop | None = None, ended: bool = True) -> Record:
    """A session of so many rounds after the blind one; `ended` false: it goes on."""
    if ended and stop is None:
        stop = stopped(words, rounds, jsd=0.8)
    opened = log.Opened(
        question=words.question, protocol="maci", version=1, settings={}, seats=(), seed=7, turn_timeout_s=60.0
    )
    entries = [
        log.Entry(n=0, at_ns=START_NS, cause="in:1", event=opened, commands=(), digest=""),
        log.Entry(
            n=1, at_ns=START_NS + 1, cause="in:2", event=log.TimerFired(),
            commands=tuple(says(words, rounds, stop)), digest="",
        ),
    ]  # fmt: skip
    return Record(sid=SID, entries=tuple(encode(e).decode() for e in entries))
