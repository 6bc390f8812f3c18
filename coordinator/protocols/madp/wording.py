"""madp: from what was said to the consensus (seeds/madp.md 4.4, 4.5). Where the depth asks for it and a challenge is
open, a language model words all claims and challenges first, in one turn.

It is the general-purpose expert's model: this one claims nothing of the task, so it words no claim of its own. How sure
each expert is, and what it defers or requires, stays as it was declared.
"""

import msgspec

from parley.coordinator.commands import Withdraw
from parley.coordinator.protocols.madp import who_leads
from parley.coordinator.protocols.madp.depth import SUPPORT, worded
from parley.coordinator.protocols.madp.items import warn
from parley.coordinator.protocols.madp.lead_changes import assign, consensus
from parley.coordinator.protocols.madp.state import Phase, Says, State, announced, say
from parley.coordinator.protocols.madp.turns import ask_words, no_words
from parley.coordinator.protocols.madp.who_leads import ResolutionInput
from parley.coordinator.table import Answered, Missed, Step, View, WindowClosed
from parley.schemas.protocols.madp.messages import Challenges, Worded

replace = msgspec.structs.replace
DECLARED = "not every claim and challenge is worded by a model, the budget is kept for the work"
NOT_WORDED = "claims and challenges stand as declared, no model worded them"


def to_consensus(s: State, v: View, says: Says) -> Step:
    """All was said: it is worded first, where that is wanted and somebody can."""
    s, warned, words = _wanted(s, v)
    says = (*says, *warned)
    if words:
        return replace(s, phase=Phase.WORDING), (*says, *ask_words(s, v))
    return _agree(s, v, (*says, *posted_challenges(s)))


def _wanted(s: State, v: View) -> tuple[State, Says, bool]:
    """(.., a warning, whether a model is asked). Nothing is paid for words where nobody objects to a claim, or where
    the work could then not be paid."""
    words = bool(s.challenges) and worded(s.depth or "instant", v.settings)
    by = announced(v).get(s.general)
    if not words or by is None or not by.metered:
        return s, (), False
    short = no_words(s, v, s.general)
    return (*warn(s, (), f"{DECLARED} ({short})"), False) if short else (s, (), True)


def on_worded(s: State, e: Answered, v: View) -> Step:
    """Its words take the place of the declared ones."""
    words: Worded = e.body
    claims = dict(s.claims)
    for c in words.claims:
        claims[c.agent_id] = replace(claims[c.agent_id], claim=c.claim, relevance=c.relevance)
    s = replace(s, claims=claims, challenges=words.challenges)
    return _agree(s, v, (say(s, "worded", words, e.seat), *posted_challenges(s)))


def on_not_worded(s: State, e: Missed, v: View) -> Step:
    """What was declared stands."""
    return _as_declared(s, v, (), e.why)


def on_words_late(s: State, e: WindowClosed, v: View) -> Step:
    """9.1's time budget is over: what was declared is enough to agree, so it is no failure of the coordination."""
    withdrawals = tuple(Withdraw(seat=x) for x in dict.fromkeys(t.ask.seat for t in v.open_turns))
    return _as_declared(s, v, withdrawals, "the coordination took longer than it may")


def _as_declared(s: State, v: View, says: Says, why: str) -> Step:
    s, says = warn(s, says, f"{NOT_WORDED}: {why[:400]}")
    return _agree(s, v, (*says, *posted_challenges(s)))


def posted_challenges(s: State) -> Says:
    """One post an expert that objects."""
    by = dict.fromkeys(c.challenger_id for c in s.challenges)
    return tuple(
        say(s, "challenges", Challenges(challenges=tuple(c for c in s.challenges if c.challenger_id == x)), seat=x)
        for x in by
    )


def _agree(s: State, v: View, says: Says) -> Step:
    """4.5: out of those who claimed."""
    r = who_leads.resolve(
        ResolutionInput(
            claims=s.claims,
            challenges=s.challenges,
            candidates=s.candidates,
            profiles=s.profiles,
            passed=s.passed,
            silent=tuple(c.expert for c in s.candidates if c.expert not in s.claims and c.expert not in s.passed),
            announced=frozenset(announced(v)),
            most_support=SUPPORT[s.depth or "instant"],
        )
    )
    decision = consensus(
        v, r.lead, r.rationale, "implicit" if s.depth == "quick" else "explicit", support=r.support,
        excluded=r.excluded, conflict=r.conflict, notes=r.notes,
    )  # fmt: skip
    return assign(s, v, says, decision, contenders=r.contenders)
