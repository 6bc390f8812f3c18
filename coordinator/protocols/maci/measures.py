"""maci: the figures that are counted when a session is closed."""

from collections import Counter
from collections.abc import Callable

from parley.coordinator.protocols.maci.state import ClosedRound, State, body_of
from parley.coordinator.schedulers import controller, stop_rule
from parley.coordinator.table import Measured, Sample, Session, SessionCounts, View
from parley.schemas.belief import Belief
from parley.schemas.control import Signals
from parley.schemas.protocols.maci.messages import RoundSignals as Post
from parley.schemas.protocols.maci.messages import Ruled

NO_DEBATE, UNANIMITY, UNCHANGED, PLATEAU = "no_debate", "unanimity", "unchanged", "plateau"


def measured(session: Session, view: View) -> Measured:
    """Agreement is the share of debaters that hold the most widely held answer; disagreement that of the controller."""
    s: State = session.inner
    if s.control is None:
        return Measured()
    rounds = s.control.rounds
    last = rounds[-1]
    rules = _rules(view, rounds)
    return Measured(
        agreement=_sharing(s.control) / len(s.control.beliefs),
        disagreement=min(1.0, max(0.0, last.jsd)),
        plateau=PLATEAU in rules,
        flips=_flips(s, view),
        judge_variance=tuple(r.crit_variance for r in rounds if r.crit_variance is not None),
        rules=rules,
        samples=(Sample("arguments_refused_total", value=sum(len(r.refused) for r in s.rounds)),),
    )


def _sharing(control: controller.State) -> int:
    """The number of debaters that share the most widely held answer; in the paper's reading it is counted here."""
    sharing = control.rounds[-1].sharing
    if isinstance(sharing, int):
        return sharing
    leading = Counter(belief.index(max(belief)) for belief in control.beliefs.values() if _decided(belief))
    return max(leading.values(), default=0)


def _decided(belief: tuple[float, ...]) -> bool:
    return belief.count(max(belief)) == 1


def _rules(view: View, rounds: tuple[Signals, ...]) -> dict[str, int]:
    """Other stop rules, by the dials of the session. Those of the debate's reading are not known in the paper's."""
    config = view.settings
    holds: dict[str, Callable[[int], bool]] = {
        NO_DEBATE: lambda t: True,
        UNANIMITY: lambda t: isinstance(rounds[t].sharing, int) and rounds[t].sharing == len(rounds[t].weights),
        UNCHANGED: lambda t: t > 0 and stop_rule.still(config, rounds[t]),
        PLATEAU: lambda t: all(test["holds"] for test in stop_rule.plateau(config, rounds[: t + 1])),
    }
    counts = {}
    for name, condition in holds.items():
        first = next((rounds[t].round for t in range(len(rounds)) if condition(t)), None)
        if first is not None:
            counts[name] = first
    return counts


def _flips(s: State, view: View) -> dict[str, int]:
    """Debaters whose most probable answer has changed since the round before. Quoted: in that round an argument of
    somebody else with evidence was admitted, which the debater was shown. Argued: one without evidence."""
    counts: Counter[str] = Counter()
    for before, now in zip(s.rounds, s.rounds[1:], strict=False):
        beliefs_before, beliefs_now = (body_of(view, r.post, Post).beliefs for r in (before, now))
        for seat in beliefs_before.keys() & beliefs_now.keys():
            if _leading(beliefs_before[seat]) != _leading(beliefs_now[seat]):
                counts[_because(view, before, seat)] += 1
    return dict(counts)


def _leading(belief: Belief) -> frozenset[str]:
    most = max((share.p for share in belief), default=0.0)
    return frozenset(share.outcome for share in belief if share.p == most)


def _because(view: View, before: ClosedRound, seat: str) -> str:
    shown = [body_of(view, entry.post, Ruled) for entry in before.admitted if entry.seat != seat]
    return "quoted" if any(a.spans for a in shown) else "argued" if shown else "unexplained"


COUNTED = SessionCounts(measured=measured, rules=(NO_DEBATE, UNANIMITY, UNCHANGED, PLATEAU))
