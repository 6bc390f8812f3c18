"""madp: semantic faults of what experts say, in words that name the field, the value and what is allowed. A model is
shown them with its next attempt; who speaks from the floor is refused with them."""

from collections import Counter
from collections.abc import Mapping

from parley.coordinator.protocols.madp.evidence.told import departs
from parley.coordinator.protocols.madp.state import (
    MOST_BLOCKED,
    MOST_SEATED,
    State,
    announced_experts,
    expert_list,
    room,
    verdicts,
)
from parley.coordinator.table import OpenTurn, View
from parley.schemas.protocols.madp.messages import Challenge, Challenges, Claim, Settings, Worded
from parley.schemas.protocols.madp.work import CheckBrief, Checked, Review, Support, Work
from parley.schemas.routing import Matched
from parley.schemas.wire import decode

MOST_STEP = 1_000
"""Characters of one thing that is completed or remains."""


def check(state: State, turn: OpenTurn, body: object, view: View) -> str:
    """The first fault of a reply; empty if there is none."""
    seat = turn.ask.seat
    match body:
        case Matched():
            return _matched(body)
        case Worded():
            return _worded(body, state)
        case Work():
            return _work(body, seat, state, view) or _tells(body, turn, state, view)
        case Support():
            return _folder("support", body)
        case Checked():
            return _checked(body, decode(turn.ask.brief, CheckBrief))
        case Review():
            return _places(body, view)
    return ""


def _matched(body: Matched) -> str:
    for field, ids in (
        ("candidates", [c.expert for c in body.candidates]),
        ("profiles", [p.expert for p in body.profiles]),
    ):
        twice = [x for x, n in Counter(ids).items() if n > 1]
        if twice:
            return f"{field}: {expert_list(twice)} twice; each expert is named once"
    return ""


def claim_fault(body: Claim, expert: str, view: View) -> str:
    """An expert neither defers to itself nor requires itself; whom it requires must be there. Whom it defers to need
    not be: its specification may name experts that do not run."""
    for field in ("defers_to", "requires"):
        ids = getattr(body, field)
        if expert in ids:
            return f"{field}: got {expert!r}; an expert does not name itself"
        if len(set(ids)) < len(ids):
            return f"{field}: got {', '.join(ids)}; each expert is named once"
    experts = announced_experts(view)
    unknown = [x for x in body.requires if x not in experts]
    if unknown:
        return f"requires: got {expert_list(unknown)}; experts that are there: {expert_list(experts)}"
    about = [x for x in body.topics if x not in (*body.defers_to, *body.requires)]
    if about:
        return f"topics: got {expert_list(about)}; they are of those named in defers_to and requires"
    return ""


def challenges_fault(body: Challenges, expert: str, claims: Mapping[str, Claim]) -> str:
    """One challenges as itself, others who claimed, each once."""
    others = [x for x in claims if x != expert]
    for c in body.challenges:
        if c.challenger_id != expert:
            return f"challenger_id: got {c.challenger_id!r}; you are {expert}"
        if c.challenged_id not in others:
            return f"challenged_id: got {c.challenged_id!r}; who may be challenged: {expert_list(others)}"
    twice = [x for x, n in Counter(c.challenged_id for c in body.challenges).items() if n > 1]
    return f"challenged_id: {expert_list(twice)} twice; challenge each expert once" if twice else ""


def _worded(body: Worded, state: State) -> str:
    """It words the claims of those who made one, each once, and objects in their names to others of them."""
    twice = [x for x, n in Counter(c.agent_id for c in body.claims).items() if n > 1]
    if twice:
        return f"claims.agent_id: {expert_list(twice)} twice; word each claim once"
    for field, who in (
        ("claims.agent_id", [c.agent_id for c in body.claims]),
        ("challenges.challenger_id", [c.challenger_id for c in body.challenges]),
    ):
        unknown = [x for x in who if x not in state.claims]
        if unknown:
            return f"{field}: got {expert_list(unknown)}; who claimed it: {expert_list(state.claims)}"
    by: dict[str, list[Challenge]] = {}
    for c in body.challenges:
        by.setdefault(c.challenger_id, []).append(c)
    faults = (
        challenges_fault(Challenges(challenges=tuple(challenges[:8])), x, state.claims) for x, challenges in by.items()
    )
    return next((fault for fault in faults if fault), "")


def _work(body: Work, seat: str, state: State, view: View) -> str:
    settings: Settings = view.settings
    fault = _folder("work", body)
    if body.support is not None:
        fault = fault or _other("work.support.agent_id", body.support.agent_id, seat, view)
        fault = fault or _too_many("work.support", "requests of support", state.supports, settings.max_support)
    if body.handoff is not None:
        fault = fault or _other("work.handoff.to_agent", body.handoff.to_agent, seat, view)
        for field in ("completed", "remaining"):
            longest = max((len(x) for x in getattr(body.handoff, field)), default=0)
            if longest > MOST_STEP:
                limit = f"allowed are at most {MOST_STEP:,}"
                fault = fault or f"work.handoff.{field}: an entry of {longest:,} characters, {limit}"
        fault = fault or _too_many("work.handoff", "handoffs", state.handoffs, settings.max_handoffs)
    if body.outcome == "blocked":
        fault = fault or _too_many("work.blocked", "questions that block", state.blocks, MOST_BLOCKED)
    if body.outcome in ("done", "planned") and not body.output.strip() and not body.diff.strip():
        fault = fault or "work.output: it is empty, and so is work.diff; what is done is handed over in full"
    return fault


def _tells(body: Work, turn: OpenTurn, state: State, view: View) -> str:
    """Work tells of its reviews what was counted. What says otherwise is refused once; if it comes again, the result
    shows that it departs (outcome)."""
    counted = verdicts(state.rounds[-1], view) if state.rounds else {}
    may = body.outcome == "done" and turn.ask.attempt == 1 < view.attempts
    otherwise = departs(body, counted, view.opened.question) if may else ""
    return f"work.output: {otherwise}; tell of reviews what was counted, or nothing" if otherwise else ""


def _other(field: str, expert: str, seat: str, view: View) -> str:
    others = [x for x in announced_experts(view) if x != seat]
    if expert in others:
        return "" if room(view, expert) else f"{field}: got {expert!r}; {MOST_SEATED} experts take part, no more may"
    who = "that is yourself" if expert == seat else "there is no such expert"
    return f"{field}: got {expert!r}: {who}; who may be asked: {expert_list(others)}"


def _too_many(field: str, what: str, had: int, most: int) -> str:
    if had < most:
        return ""
    return f"{field}: this task had {had} {what}, allowed are at most {most}; go on with what you have"


def _checked(body: Checked, brief: CheckBrief) -> str:
    if (body.when, body.command) != (brief.when, brief.command):
        return f"checked: got the run {body.when} of {body.command!r}; asked was {brief.when}, {brief.command!r}"
    return ""


def _places(body: Review, view: View) -> str:
    """Where a folder is reviewed, what has to change stands somewhere in it."""
    if not view.settings.folder:
        return ""
    for n, finding in enumerate(body.findings):
        if finding.severity in ("critical", "major") and not finding.location.strip():
            return f"findings.{n}.location: it is empty; name the file and the line, as in src/app.py:12"
    return ""


def _folder(what: str, body: Work | Support) -> str:
    if body.folder is not None and body.folder.type != "folder":
        return f"{what}.folder.type: got {body.folder.type!r}, wanted is 'folder'"
    return ""
