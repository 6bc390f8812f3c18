"""The dual-dial controller of MACI (Algorithm 1): a round's beliefs, scores and evidence in, signals and dials out.

It knows nothing of sessions. The protocol feeds it live, `parley signals` from a file, a bench from recorded debates.
Every argument is a frozen value, and so is every result.

What always holds:

1. Signals describe the round that was played. Dials are for the round to come. So `State.cl`, `tau_q` and `tau_crit`
   are in force in the next round, and each `Signals` keeps the dials under which its round was played.
2. Round 0 is blind: no gate is in force, all agents weigh the same, and nothing can be a plateau yet.
3. With the monotone gate on, the dispersion of the accepted beliefs rises by no more than `nu` a round.
4. The gates never fall, and never rise above `tau_max`.

Why `advance` has this order:

- The monotone gate comes first (M.2). A round that it holds back keeps the old beliefs, and every signal must be of
  the beliefs that stand. Averaging (M.1) precedes it, because the gate judges what would stand.
- Reliability comes before the mixture: the weights of a round include the scores of that round. Scores count even when
  the gate holds the beliefs back, because an argument was made and judged.
- Entropy and disagreement come next, then the ratios r_I and r_D over the history, then the plateau flags (eq. 7).
- What the flags say about minds (`reading: debate`) may override them, so it comes after them.
- The dials turn last (eq. 8 and 9), from the final flags. Other orders let a dial react to noise that a later step
  takes out.

Whether the debate ends is not decided here: `verdict` asks the stop rule, which sees all rounds.
"""

from collections.abc import Mapping

import msgspec

from parley.coordinator.schedulers import dials, ucb
from parley.coordinator.schedulers import stop_rule as stops
from parley.coordinator.signals import beliefs as dist
from parley.coordinator.signals import crit as panel
from parley.coordinator.signals import progress as moves
from parley.coordinator.signals.beliefs import logged
from parley.coordinator.signals.crit import overlap
from parley.schemas.control import Control, Signals, Verdict

Beliefs = dict[str, tuple[float, ...]]


class Observation(msgspec.Struct, frozen=True, kw_only=True):
    """What one round brought."""

    beliefs: Beliefs
    """By agent, in the order of the outcomes; checked. Who is absent keeps its last one."""
    evidence: dict[str, tuple[str, ...]] = {}
    """Passages that each agent has in the record after the round; in the paper's reading, those that it cited in the
    round, admitted or not."""
    crit: dict[str, float] = {}
    """Mean CRIT of each agent's arguments, 0 to 1; absent: it had none."""
    crit_mean: float | None = None
    """Over all arguments of the round (E.2); None: the mean of `crit`."""
    crit_variance: float | None = None
    """Across the judges."""
    judges: int | msgspec.UnsetType = msgspec.UNSET
    """Different workers that scored; unset: not known."""
    q: float = 0.0
    """Of the record after the round; in the paper's reading, of what was admitted in the round. Of the retrieved
    passages in the blind round."""
    reached_q: tuple[float, ...] = ()
    """Of each argument of the round; none: `q` stands for them."""
    reached_crit: tuple[float, ...] = ()
    """Of each argument of the round; none: `crit` stands for them."""
    tokens: int = 0
    advocate: str = ""
    """Who was named devil's advocate and argued; empty: nobody."""
    attacks: int = 0
    """Of the advocate's arguments those that judges passed and found to speak against what all hold, and that the
    record admitted: the others are to answer them in the next round."""
    unanswered: int = 0
    """Of such arguments of rounds before those that a debater has still to answer."""
    arguments: int | None = None
    """New in the round; None: not known."""
    tokens_left: float | None = None
    """Tokens left of the budget after this round; None: not known. The learned schedule alone asks."""


class State(msgspec.Struct, frozen=True, kw_only=True):
    """What is carried from round to round."""

    outcomes: tuple[str, ...]
    ordered: bool = False
    positions: tuple[float, ...] = ()
    rounds: tuple[Signals, ...]
    """All so far, the blind one first."""
    beliefs: Beliefs
    """As they stand, as the agents gave them. The signals are of these beliefs smoothed (M.1)."""
    reliability: dict[str, float]
    cl: float
    """In force in the next round, like the two gates."""
    tau_q: float
    tau_crit: float
    held: tuple[int, ...] = ()
    """Rounds whose beliefs the monotone gate kept out."""
    learned: ucb.Learned | None = None
    trust: dict[str, float] | msgspec.UnsetType = msgspec.UNSET
    """By agent, what its record is worth beside the others' (1: as much as the mean). Unset: no record is known."""

    @property
    def mixture(self) -> dict[str, float]:
        """By outcome, after the last round (eq. 5)."""
        return self.rounds[-1].mixture


def begin(
    config: Control,
    outcomes: tuple[str, ...],
    observation: Observation,
    *,
    ordered: bool = False,
    positions: tuple[float, ...] = (),
    trust: Mapping[str, float] | None = None,
) -> State:
    """The blind round 0: uniform weights, no gate in force, no flag; its Q and D give the starting contentiousness.
    `trust`: by agent, what its record is worth: a factor of its weight in every round. None or empty: no record is
    known."""
    agents = tuple(observation.beliefs)
    beliefs, constants = dict(observation.beliefs), config.constants
    state = State(
        outcomes=outcomes,
        ordered=ordered,
        positions=positions,
        rounds=(),
        beliefs=beliefs,
        reliability=dict.fromkeys(agents, panel.START),
        cl=0.0,
        tau_q=constants.tau_q if config.q_gated else 0.0,
        tau_crit=constants.tau_crit if config.crit_gate else 0.0,
        learned=ucb.begin(config) if config.schedule == "learned" else None,
        trust={u: trust[u] for u in agents} if trust else msgspec.UNSET,
    )
    weights = panel.trusted(dict.fromkeys(agents, 1 / len(agents)), _trust(state))
    signals = _measured(state, observation, weights, dist.spread(beliefs.values(), constants.smoothing))
    if config.follows_minds:
        signals = _minds(signals, state, observation, beliefs)
    return msgspec.structs.replace(state, rounds=(signals,), cl=_first_level(config, signals))


def join(state: State, agent: str, belief: tuple[float, ...], trust: float = 1.0) -> State:
    """An agent that was not there in round 0 takes part from the next round on, with this belief."""
    known = {} if state.trust is msgspec.UNSET else {"trust": {**state.trust, agent: trust}}
    return msgspec.structs.replace(
        state, beliefs={**state.beliefs, agent: belief}, reliability={**state.reliability, agent: panel.START}, **known
    )


def advance(config: Control, state: State, observation: Observation) -> State:
    """One round: monotone gate where it is on, reliability, signals, flags; then the dials of the next round.

    A round that the monotone gate holds keeps every agent's belief as it was; its scores still count for reliability.
    """
    before, constants = state.beliefs, config.constants
    beliefs, spread, is_held = _gated(config, state, observation.beliefs)
    reliability = panel.reliability(state.reliability, observation.crit, constants.lambda_)
    number = len(state.rounds)
    state = msgspec.structs.replace(
        state, beliefs=beliefs, reliability=reliability, held=(*state.held, number) if is_held else state.held
    )
    weights = panel.trusted(panel.weights(reliability, constants.eps), _trust(state))
    signals = _measured(state, observation, weights, spread)
    entropies = [*(r.entropy for r in state.rounds), signals.entropy]
    moved = moves.progress(
        entropies,
        [*(r.jsd for r in state.rounds), signals.jsd],
        constants.w,
        constants.eta,
        either_way=config.reading == "debate",
    )
    pi_i, pi_d = moves.flags(moved, constants.plateau, constants.eps_i, constants.eps_d)
    signals = msgspec.structs.replace(
        signals,
        information_gain=moves.information_gain(entropies[-2], entropies[-1]),
        r_i=moved.r_i,
        r_d=moved.r_d,
        pi_i=pi_i,
        pi_d=pi_d,
        held=is_held,
        cl=state.cl,
        tau_q=state.tau_q,
        tau_crit=state.tau_crit,
    )
    if config.follows_minds:
        signals = _minds(signals, state, observation, before)
    if config.reading == "debate":
        signals = _less_noise(config, signals, state.rounds[-1])
    return _turned(config, state, signals, observation)


def verdict(config: Control, state: State, short: str = "", unconfirmed: int = 0) -> Verdict | None:
    """Whether the debate ends after its last round, and why; None: it goes on. `short`: why the next round does not fit
    what is left of the budget, with figures; empty: it fits. `unconfirmed`: debaters that were not shown what their
    merged words count as."""
    return stops.verdict(config, state.rounds, ordered=state.ordered, short=short, unconfirmed=unconfirmed)


def parted(state: State, outcomes: tuple[str, ...]) -> State:
    """The state with further outcomes, which nobody has held yet."""
    beliefs = {agent: (*belief, *(0.0 for _ in outcomes)) for agent, belief in state.beliefs.items()}
    return msgspec.structs.replace(state, outcomes=(*state.outcomes, *outcomes), beliefs=beliefs)


def agrees(config: Control, state: State) -> bool:
    """Whether a devil's advocate is to be named for the coming round: agreement may end the debate, all agree, and no
    advocate before is still to be answered."""
    return config.agreement_ends and stops.agrees(config, state.rounds[-1]) and not answering(config, state)


def answering(config: Control, state: State) -> bool:
    """Whether the coming round is one in which the others answer the devil's advocate of the round before."""
    return config.agreement_ends and stops.attacked(config, state.rounds)


def admits(config: Control, state: State, q: float | None, crit: float | None) -> bool:
    """Whether an argument enters the record in the coming round: q_i >= tau_Q and CRIT_i >= tau_CRIT. A figure that is
    not known (None) reaches no gate; a gate that is off lets everything pass."""
    evident = q is not None and q >= state.tau_q
    argued = crit is not None and crit >= state.tau_crit
    return (evident or not config.q_gated) and (argued or not config.crit_gate)


def _trust(state: State) -> Mapping[str, float]:
    return {} if state.trust is msgspec.UNSET else state.trust


def _gated(
    config: Control, state: State, offered: Mapping[str, tuple[float, ...]]
) -> tuple[Beliefs, dist.BeliefSpread, bool]:
    """Beliefs after averaging (M.1) and the monotone gate (M.2), and whether it held the round back."""
    beliefs, constants = {**state.beliefs, **offered}, config.constants
    if constants.averaging:
        moved = dist.averaged(tuple(beliefs.values()), constants.averaging)
        beliefs = dict(zip(beliefs, moved, strict=True))
    spread = dist.spread(beliefs.values(), constants.smoothing)
    if not config.gated:
        return beliefs, spread, False
    most = state.rounds[-1].dispersion + constants.nu
    if spread.dispersion > most + dist.ROUNDING:
        return state.beliefs, dist.spread(state.beliefs.values(), constants.smoothing), True
    return beliefs, msgspec.structs.replace(spread, dispersion=min(spread.dispersion, most)), False


def _measured(state: State, observation: Observation, weights: dict[str, float], spread: dist.BeliefSpread) -> Signals:
    """Signals that need no history."""
    omega = [weights[agent] for agent in state.beliefs]
    mixed = dist.mixture(spread.rows, omega)
    plain = dist.jsd(spread.dispersion, len(omega))
    disagreement = dist.wasserstein(spread.rows, state.positions) if state.ordered else plain
    scores = observation.crit
    middle = observation.crit_mean
    if middle is None and scores:
        middle = panel.average(list(scores.values()))
    return Signals(
        round=len(state.rounds),
        jsd=disagreement,
        dispersion=spread.dispersion,
        overlap=overlap([frozenset(observation.evidence.get(agent, ())) for agent in state.beliefs]),
        entropy=min(1.0, dist.entropy(mixed) / dist.bits(len(mixed))),
        q=observation.q,
        crit=middle,
        crit_by_agent=dict(scores),
        crit_variance=observation.crit_variance,
        judges=observation.judges,
        reliability=dict(state.reliability),
        weights=weights,
        mixture=dict(zip(state.outcomes, mixed, strict=True)),
        tokens=observation.tokens,
        logged=logged(spread, omega, mixed, state.positions),
    )


def _minds(signals: Signals, state: State, observation: Observation, before: Beliefs) -> Signals:
    """The signals with what they say of minds: who shares an answer, how far somebody moved, and who attacked it."""
    leading = [_leading(state.outcomes, belief) for belief in state.beliefs.values()]
    sharing = max(leading.count(name) if name else 0 for name in leading)
    common = state.rounds[-1].shared if state.rounds else ""
    place = state.outcomes.index(common) if common else None
    pairs = [(before[agent], belief) for agent, belief in state.beliefs.items()]
    return msgspec.structs.replace(
        signals,
        shared=leading[0] if sharing == len(leading) else "",
        sharing=sharing,
        least=min(map(max, state.beliefs.values())) if sharing == len(leading) else None,
        moved=max(dist.total_variation(was, now) for was, now in pairs) if state.rounds else None,
        yielded=None if place is None else max(0.0, *(round(was[place] - now[place], 12) for was, now in pairs)),
        advocate=observation.advocate,
        attacks=observation.attacks if observation.advocate else 0,
        unanswered=observation.unanswered,
        arguments=observation.arguments,
        absent=sum(agent not in observation.beliefs for agent in state.beliefs),
    )


def _leading(outcomes: tuple[str, ...], belief: tuple[float, ...]) -> str:
    """The most probable outcome; empty: there are several."""
    most = max(belief)
    first = [name for name, p in zip(outcomes, belief, strict=True) if p >= most - dist.ROUNDING]
    return first[0] if len(first) == 1 else ""


def _first_level(config: Control, signals: Signals) -> float:
    if config.schedule == "stepped":
        return dials.stepped(1)
    if config.cl is not None:
        return config.cl
    return dials.level(dials.bins(config), signals.q, signals.jsd)


def _less_noise(config: Control, signals: Signals, before: Signals) -> Signals:
    """Where nobody moved, both flags are up: what is less than a stated move is noise, and what moved in rounds before,
    over which the ratios are averaged, is forgotten. Where disagreement rose, however little, neither is. A round that
    brought no argument has the evidence of the record as it stood."""
    if signals.arguments == 0:
        signals = msgspec.structs.replace(signals, q=before.q if before.round else 0.0)
    if signals.jsd > before.jsd + dist.ROUNDING:
        return msgspec.structs.replace(signals, pi_i=False, pi_d=False)
    return msgspec.structs.replace(signals, pi_i=True, pi_d=True) if stops.still(config, signals) else signals


def _turned(config: Control, state: State, signals: Signals, observation: Observation) -> State:
    """The dials of the next round (equations 8 and 9), under the schedule that is set. The gates rise to no more than
    what the round's own arguments reach."""
    pi_i, pi_d = bool(signals.pi_i), bool(signals.pi_d)
    # what nobody argued in cannot have been too weak for the gates
    raised = pi_i and (config.reading == "paper" or signals.arguments != 0)
    constants = config.constants
    alpha_i, alpha_d, gamma = constants.alpha_i, constants.alpha_d, constants.gamma
    chosen = state.learned
    if chosen is not None:
        chosen = ucb.after(config, chosen, (*state.rounds, signals), observation.tokens_left)
        alpha_i = alpha_d = chosen.alpha
        gamma = chosen.gamma
        signals = msgspec.structs.replace(signals, alpha=chosen.alpha, gamma=chosen.gamma)
    cl = state.cl
    if config.schedule == "stepped":
        cl = dials.stepped(signals.round + 1)
    elif config.schedule != "fixed":
        cl = dials.behaviour(cl, pi_i, pi_d, alpha_i, alpha_d)
    tau_q = dials.information(state.tau_q, raised, gamma, constants.tau_max)
    tau_crit = dials.information(state.tau_crit, raised, gamma, constants.tau_max)
    if config.gate_bound is not None:
        reached = observation.reached_q or ((observation.q,) if observation.q else ())
        tau_q = dials.bounded(state.tau_q, tau_q, reached, config.gate_bound)
        tau_crit = dials.bounded(
            state.tau_crit, tau_crit, observation.reached_crit or tuple(observation.crit.values()), config.gate_bound
        )
    return msgspec.structs.replace(
        state,
        rounds=(*state.rounds, signals),
        cl=cl,
        learned=chosen,
        tau_q=tau_q if config.q_gated else 0.0,
        tau_crit=tau_crit if config.crit_gate else 0.0,
    )
