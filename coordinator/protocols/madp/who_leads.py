"""madp: who leads, who supports, who is left out (seeds/madp.md 4.5), as a pure function of what was said.

Those who claimed stand by the relevance that they claim, then by their confidence; what is equal goes by priority
(9.1). Then what they said of each other counts:

- `defers_to` without a topic leaves the whole task to another, with a topic a part of it. Deferring to each other over
  different topics is normal; deferrals over the same one that go round in a circle are ended by relevance, and said so.
- A challenge names what the challenged one should be (docs/madp.md). It holds where the challenger claims no
  less relevance than the challenged one (of whoever stands highest: where it stands equal), or two say the same. `lead`
  is a concession: the challenged one takes the challenger's place, with its standing.

What cannot be settled so is a conflict (9.3): it names the most confident as default, and a human may decide.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from parley.coordinator.protocols.madp.depth import variance
from parley.schemas.protocols.madp.messages import Challenge, Claim, Exclusion, Resolution
from parley.schemas.protocols.madp.work import Assignment
from parley.schemas.routing import Candidate, Profile

RANK = {"low": 0, "medium": 1, "high": 2}
UNKNOWN_PRIORITY = 99
TIE_VARIANCE = 1e-4  # 9.1: "all match equally"
"""Confidences whose variance is not above this are equal, and priority decides."""
_MILDEST: tuple[Resolution, ...] = ("collaborate", "lead", "support", "exclude")


@dataclass(frozen=True)
class ResolutionInput:
    """What a resolution rests on."""

    claims: Mapping[str, Claim]
    """Expert -> its claim."""
    challenges: Sequence[Challenge] = ()
    candidates: Sequence[Candidate] = ()
    profiles: Mapping[str, Profile] = field(default_factory=dict)
    passed: Mapping[str, str] = field(default_factory=dict)
    """Candidate -> why it passed."""
    silent: Sequence[str] = ()
    announced: frozenset[str] = frozenset()
    most_support: int = 3


@dataclass(frozen=True)
class Resolved:
    """Who does what."""

    lead: Assignment
    support: tuple[Assignment, ...]
    excluded: tuple[Exclusion, ...]
    rationale: str
    conflict: str = ""
    contenders: tuple[str, ...] = ()
    """The experts in conflict."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Edge:
    """`one` defers to `other`: over the topic, or over the whole task if the topic is empty."""

    one: str
    other: str
    topic: str


def same_topic(topic: str) -> str:
    """The form in which topics are compared."""
    return " ".join(topic.casefold().split()).rstrip(".")


def tied(confidence: Mapping[str, float]) -> tuple[str, ...]:
    """The most confident and all that are equal to it: as many, from the top, as have a variance that is not above the
    threshold (9.1). The most confident first."""
    order = sorted(confidence, key=lambda x: (-confidence[x], x))
    n = len(order)
    while n > 1 and variance([confidence[x] for x in order[:n]]) > TIE_VARIANCE:
        n -= 1
    return tuple(order[:n])


def most_confident(confidence: Mapping[str, float], profiles: Mapping[str, Profile]) -> tuple[str, str]:
    """(The most confident, ties by priority; a note on the tie, or empty)."""
    equal = tied(confidence)
    first = min(equal, key=lambda x: (priority(profiles, x), -confidence[x], x))
    if len(equal) == 1:
        return first, ""
    them = ", ".join(sorted(equal))
    return first, f"tie: {them} are equally confident ({confidence[equal[0]]:.2f}); priority decides for {first}"


def priority(profiles: Mapping[str, Profile], expert: str) -> int:
    """1 is highest."""
    return profiles[expert].priority if expert in profiles else UNKNOWN_PRIORITY


def responsibility(profiles: Mapping[str, Profile], expert: str, claim: Claim | None = None) -> str:
    """The responsibility of an expert: what it claims, else what its specification says."""
    if claim is not None:
        return claim.claim
    known = profiles.get(expert)
    return (known.claim if known else "") or "the task as a whole"


# ---------------------------------------------------------------- deferrals


def deferrals(claims: Mapping[str, Claim]) -> tuple[Edge, ...]:
    """Who defers to whom over what."""
    return tuple(
        Edge(one, other, same_topic(claim.topics.get(other, "")))
        for one, claim in sorted(claims.items())
        for other in claim.defers_to
        if other != one
    )


def circles(edges: Iterable[Edge]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(topic, its experts in order) for each circle of deferrals over one topic."""
    cycles = []
    by_topic: dict[str, dict[str, list[str]]] = {}
    for e in edges:
        by_topic.setdefault(e.topic, {}).setdefault(e.one, []).append(e.other)
    for topic, graph in sorted(by_topic.items()):
        unvisited = set(graph)
        for start in sorted(graph):
            if start not in unvisited:
                continue
            path = _way_back(graph, start, unvisited)
            if path:
                cycles.append((topic, path))
                unvisited -= set(path)
    return tuple(cycles)


def _way_back(graph: Mapping[str, list[str]], start: str, allowed: set[str]) -> tuple[str, ...]:
    """The shortest way from a node to itself, through `allowed` nodes; empty: there is none."""
    paths: list[tuple[str, ...]] = [(start,)]
    seen = {start}
    while paths:
        path = paths.pop(0)
        for other in graph.get(path[-1], ()):
            if other == start:
                return path
            if other in allowed and other not in seen:
                seen.add(other)
                paths.append((*path, other))
    return ()


def needs_challenges(claims: Mapping[str, Claim], overlap: bool) -> bool:
    """4.2, standard depth, "if needed": two claimants whose domains overlap, or more than one claim of high relevance,
    or deferrals that form a circle."""
    high = sum(c.relevance == "high" for c in claims.values())
    return len(claims) > 1 and (overlap or high > 1 or bool(circles(deferrals(claims))))


# ---------------------------------------------------------------- the resolution


class _Floor:
    """One resolution in the making. Lives inside one call."""

    def __init__(self, inputs: ResolutionInput) -> None:
        self.inputs = inputs
        by_id = {c.expert: c.confidence for c in inputs.candidates}
        self.confidence = {x: claim.confidence or by_id.get(x, 0.0) for x, claim in inputs.claims.items()}
        self.rank = {x: RANK[claim.relevance] for x, claim in inputs.claims.items()}
        self.notes: list[str] = []
        self.conflict = ""
        self.contenders: tuple[str, ...] = ()
        self.barred: dict[str, str] = {}
        """Expert -> why it may not lead."""
        self.out: dict[str, str] = {}
        """Expert -> why it may do nothing."""
        self.peers: set[str] = set()
        self.duels: list[tuple[str, str]] = []
        """Pairs that stand equal and would each push the other out."""
        self.ceded: dict[str, list[str]] = {}
        """Expert -> those who left it their place."""
        self.edges: tuple[Edge, ...] = ()

    # -- standing
    def above(self, one: str, other: str) -> bool:
        """Whether one stands above the other: by claimed relevance, then by confidence beyond a tie."""
        if self.rank[one] != self.rank[other]:
            return self.rank[one] > self.rank[other]
        a, b = self.confidence[one], self.confidence[other]
        return a > b and variance([a, b]) > TIE_VARIANCE

    def first(self, experts: Iterable[str]) -> tuple[str, str]:
        """(The one who stands highest, ties by priority; a note on the tie)."""
        experts = list(experts)
        top = max(self.rank[x] for x in experts)
        best = {x: self.confidence[x] for x in experts if self.rank[x] == top}
        return most_confident(best, self.inputs.profiles)

    # -- what they said of each other
    def defer(self) -> None:
        """End the circles: the most relevant expert of a circle keeps its topic, and the others defer to it. The same
        holds for experts who concede the lead to each other."""
        conceded = tuple(
            Edge(c.challenger_id, c.challenged_id, "")
            for c in self.inputs.challenges
            if c.proposed_resolution == "lead" and c.challenged_id in self.inputs.claims
        )
        edges = [*deferrals(self.inputs.claims), *conceded]
        while cycles := circles(edges):
            topic, path = cycles[0]
            # an expert of the circle that did not claim is the end of no deferral: circles are of claimants alone
            winner, _ = self.first(path)
            what = f"over {topic!r}" if topic else "over the whole task"
            self.notes.append(
                f"deferrals {what} go round in a circle ({' -> '.join((*path, path[0]))}): ended by relevance, "
                f"{winner} has it"
            )
            edges = [e for e in edges if e.topic != topic or e.one not in path or e.other not in path]
            edges += [Edge(x, winner, topic) for x in path if x != winner]
        self.edges = tuple(dict.fromkeys(edges))

    def challenge(self) -> None:
        """Decide which challenges hold, and what they lead to."""
        holding = [c for c in self.inputs.challenges if c.proposed_resolution != "lead" and self.holds(c)]
        holding = self.without_duels(holding)
        for challenged in sorted({c.challenged_id for c in holding}):
            against = [c for c in holding if c.challenged_id == challenged]
            top = [c for c in against if not any(self.above(other.challenger_id, c.challenger_id) for other in against)]
            c = min(top, key=lambda c: (_MILDEST.index(c.proposed_resolution), c.challenger_id))
            match c.proposed_resolution:
                case "exclude":
                    self.out[challenged] = c.reason
                case "support":
                    self.barred[challenged] = c.reason
                case _:
                    self.peers |= {c.challenger_id, challenged}

    def holds(self, c: Challenge) -> bool:
        """Whether a challenge counts. It does if it is seconded, or if its challenger claims no less relevance than the
        challenged expert. If the challenged expert stands highest, or challenges back, only an equal can push it
        aside."""
        one, other = c.challenger_id, c.challenged_id
        against = [o for o in self.inputs.challenges if o.challenged_id == other]
        if len({o.challenger_id for o in against if o.proposed_resolution == c.proposed_resolution}) > 1:
            return True
        front, _ = self.first(self.inputs.claims)
        back = any(o.challenger_id == other and o.challenged_id == one for o in self.inputs.challenges)
        equal = not self.above(other, one)
        holds = equal if other == front or back else self.rank[one] >= self.rank[other]
        if not holds:
            self.notes.append(
                f"{one}'s challenge of {other} ({c.proposed_resolution}) does not hold: {other} claims more relevance "
                "or confidence, and nobody seconds it"
            )
        return holds

    def without_duels(self, holding: list[Challenge]) -> list[Challenge]:
        """Of two equals that would push each other out, neither does."""
        pushes = {
            (c.challenger_id, c.challenged_id) for c in holding if c.proposed_resolution in ("exclude", "support")
        }
        duels = {(a, b) for a, b in pushes if (b, a) in pushes}
        self.duels = sorted((a, b) for a, b in duels if a < b)
        return [c for c in holding if (c.challenger_id, c.challenged_id) not in duels]

    def duelled(self, lead: str) -> None:
        """If the lead is one of two that would push each other out, it is a conflict; else that decides nothing."""
        for a, b in self.duels:
            why = f"{a} and {b} challenge each other's part with equal standing"
            if lead in (a, b):
                self.clash((a, b), why)
            else:
                self.notes.append(f"{why}: both keep theirs")

    def clash(self, contenders: Iterable[str], why: str) -> None:
        self.conflict = f"{self.conflict}; {why}" if self.conflict else why
        self.contenders = tuple(dict.fromkeys((*self.contenders, *contenders)))

    # -- the lead
    def lead(self) -> tuple[str, str]:
        """(The lead, why)."""
        claims = self.inputs.claims
        may = [x for x in claims if x not in self.out and x not in self.barred]
        if not may:
            what = "excluded" if set(claims) <= set(self.out) else "challenged out of the lead"
            self.clash(sorted(claims), f"everybody who claimed is {what}")
            lead, _ = self.first(claims)
            self.out.pop(lead, None)
            self.barred.pop(lead, None)
            return lead, f"{lead} claims the most relevance of those who claimed"
        whole_task = [e for e in self.edges if not e.topic and e.one in may and e.other in may]
        yielding = {e.one for e in whole_task if self.conceded(e) or self.rank[e.other] >= self.rank[e.one]}
        self.inherit(may)
        candidates = [x for x in may if x not in yielding]
        lead, tie = self.first(candidates)
        if tie:
            self.tie(lead, candidates, tie)
        others = [x for x in may if x != lead]
        if not others:
            return lead, f"{lead} alone claims it" if len(claims) == 1 else f"{lead} is left to lead"
        behind = sorted(x for x in yielding if any(e.one == x and e.other == lead and not e.topic for e in self.edges))
        if behind:
            return lead, f"{', '.join(behind)} left the task to {lead}"
        word = claims[lead].relevance
        return (
            lead,
            f"{lead} claims {word} relevance ({self.confidence[lead]:.2f}), ahead of {', '.join(sorted(others))}",
        )

    def conceded(self, e: Edge) -> bool:
        return any(
            c.challenger_id == e.one and c.challenged_id == e.other and c.proposed_resolution == "lead"
            for c in self.inputs.challenges
        )

    def inherit(self, may: list[str]) -> None:
        """An expert that was given the lead stands as high as the one that gave it."""
        concessions = [e for e in self.edges if not e.topic and e.other in may and self.conceded(e)]
        for _ in concessions:  # concessions may follow one another: each pass moves standing one step on
            for e in concessions:
                if self.above(e.one, e.other):
                    self.rank[e.other], self.confidence[e.other] = self.rank[e.one], self.confidence[e.one]
                self.ceded.setdefault(e.other, []).append(e.one)

    def tie(self, lead: str, candidates: list[str], tie: str) -> None:
        """Equals go by priority. Equals that different challengers put forward are a conflict."""
        top = self.rank[lead]
        equal = tied({x: self.confidence[x] for x in candidates if self.rank[x] == top})
        named = [x for x in equal if x in self.ceded]
        if len(named) > 1:
            them = " and ".join(sorted(named))
            self.clash(sorted(named), f"challengers of equal standing propose different leads: {them}")
        self.notes.append(tie)

    # -- the others
    def support(self, lead: str) -> tuple[Assignment, ...]:
        """Supporters, in this order: those whom the lead requires, those whom others require, peers and those
        challenged into support, those deferred to, the other claimants by their confidence."""
        inputs, claim = self.inputs, self.inputs.claims[lead]
        order: dict[str, str] = {}

        def want(experts: Iterable[str], topic: Mapping[str, str]) -> None:
            for x in experts:
                if x != lead and x not in self.out and x in inputs.announced and x not in inputs.passed:
                    order.setdefault(x, topic.get(x, ""))

        def strongest(experts: Iterable[str]) -> list[str]:
            return sorted(experts, key=lambda x: (-self.rank[x], -self.confidence[x], priority(inputs.profiles, x), x))

        want(claim.requires, claim.topics)
        claimants = strongest(inputs.claims)
        idle = {x for x in claimants if self.idle(x, lead)}
        for x in claimants:
            if x != lead and x not in self.out and x not in idle:
                want(
                    (y for y in inputs.claims[x].requires if y in inputs.claims and y not in idle),
                    inputs.claims[x].topics,
                )
        want(strongest({*self.peers, *self.barred} & set(claimants)), {})
        parts = {e.other: self.words(e) for e in self.edges if e.one == lead}
        want(parts, parts)
        want((x for x in claimants if x not in idle), {})
        return tuple(
            Assignment(agent_id=x, responsibility=topic or self.part(x))
            for x, topic in list(order.items())[: inputs.most_support]
        )

    def words(self, e: Edge) -> str:
        """A deferral's topic as it was put."""
        put = self.inputs.claims[e.one].topics.get(e.other, "")
        return put if same_topic(put) == e.topic else e.topic

    def idle(self, expert: str, lead: str) -> bool:
        """Whether it only watches (2.1: low), or leaves its part to the lead while nobody calls for it."""
        if expert == lead or expert in self.peers or expert in self.barred:
            return False
        if self.rank[expert] == RANK["low"]:
            return True
        defers = bool(self.inputs.claims[expert].defers_to)  # one that concedes the lead keeps its part
        leaves = defers and any(e.one == expert and e.other == lead for e in self.edges)
        called = any(e.other == expert for e in self.edges) or any(
            expert in c.requires for x, c in self.inputs.claims.items() if x != expert
        )
        return leaves and not called

    def part(self, expert: str) -> str:
        """The part of an expert in support: what it was named for, else what it claims."""
        named = (self.words(e) for e in self.edges if e.other == expert and e.topic)
        return next(named, "") or responsibility(self.inputs.profiles, expert, self.inputs.claims.get(expert))

    def excluded(self, lead: str, support: tuple[Assignment, ...]) -> tuple[Exclusion, ...]:
        """Every candidate and claimant that has no part."""
        inputs = self.inputs
        busy = {lead, *(a.agent_id for a in support)}
        everybody = dict.fromkeys((*(c.expert for c in inputs.candidates), *inputs.claims, *inputs.passed))
        return tuple(Exclusion(agent_id=x, reason=self.why_not(x, lead)) for x in everybody if x not in busy)

    def why_not(self, expert: str, lead: str) -> str:
        inputs = self.inputs
        if expert in self.out:
            return self.out[expert]
        if expert in inputs.passed:
            return inputs.passed[expert] or "it passed"
        claim = inputs.claims.get(expert)
        if claim is None:
            return "it did not speak in time"
        if claim.relevance == "low" and self.idle(expert, lead):
            return "it claims low relevance, and only watches"
        if self.idle(expert, lead):
            to = ", ".join(claim.defers_to)
            return f"it leaves its part to {to}, and nobody calls for it"
        return f"there are {inputs.most_support} supporting roles at most, and others are called for first"


def resolve(inputs: ResolutionInput) -> Resolved:
    """4.5's consensus. Raises ValueError: nobody claimed: nobody is made to lead who did not."""
    if not inputs.claims:
        raise ValueError("claims: got 0, at least 1 is needed")
    floor = _Floor(
        replace(
            inputs,
            claims=dict(sorted(inputs.claims.items())),  # the order of speaking does not matter
            challenges=sorted(inputs.challenges, key=lambda c: (c.challenger_id, c.challenged_id)),
            passed=dict(sorted(inputs.passed.items())),
        )
    )
    floor.defer()
    floor.challenge()
    lead, why = floor.lead()
    floor.duelled(lead)
    if floor.conflict and lead not in floor.contenders:
        floor.contenders = (lead, *floor.contenders)
    support = floor.support(lead)
    return Resolved(
        lead=Assignment(agent_id=lead, responsibility=responsibility(inputs.profiles, lead, inputs.claims[lead])),
        support=support,
        excluded=floor.excluded(lead, support),
        rationale=why,
        conflict=floor.conflict,
        contenders=floor.contenders,
        notes=tuple(floor.notes),
    )
