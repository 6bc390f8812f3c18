"""critic: how a debate ends: why, with which verdict, and who signed it.

Exit status 0 says that nothing stands against the answer, and that the critic has seen it as it stands
(docs/critic.md, "How it ends"). A verdict that upholds restates nothing: the answer is the answerer's, in its own
words. One that narrows is in the judge's words, and signed by both others. One that reverses is the judge's own
answer, and settles nothing.
"""

import msgspec

from parley.coordinator.commands import Finish, Stop
from parley.coordinator.protocol_parts import say
from parley.coordinator.protocols.critic.check import departs
from parley.coordinator.protocols.critic.confidence import at_the_end, refused_by, survived
from parley.coordinator.protocols.critic.outcome import figures
from parley.coordinator.protocols.critic.state import (
    Phase,
    Says,
    State,
    answer,
    verdict,
)
from parley.coordinator.protocols.critic.turns import ask_countersign, ask_sign, ask_verdict
from parley.coordinator.table import Answered, Missed, Step, Unaffordable, View
from parley.schemas.protocols.critic import REVERSES, UPHOLDS, Countersignature, Objection, Signature, Verdict
from parley.schemas.stops import STOPS
from parley.schemas.text import same, stands_in
from parley.schemas.wire import raw

SETTLED = 50.0
"""Points of confidence below which nothing is settled: the answer is as likely wrong as right."""
replace = msgspec.structs.replace


def conclude(s: State, v: View, reason: str, says: Says, short: str = "") -> Step:
    """The debate is over: the judge writes its verdict."""
    s = replace(s, phase=Phase.CONCLUDING, ending=reason, short=short)
    return s, (*says, ask_verdict(s, v, settled(s, v)))


def settled(s: State, v: View) -> str:
    """What the debate came to: why it ended, unless something stands against the answer. Nothing is settled while an
    objection overturns the answer, or one that nobody judged is open, or the last round was not judged, or the one
    thing that was tested did not hold, or the critic did not say what it holds against the answer as it stands, or
    the judge's confidence is low."""
    if s.reversed_by:
        return "overturned"
    if not STOPS[s.ending].converged:
        return s.ending
    if refused_by(s):
        return "overturned"
    unjudged = s.now.source == "unjudged" or any(not o.answered and o.weight is msgspec.UNSET for o in s.profile)
    failed = s.now.checked is False and not survived(s)[1]
    wanted = v.settings.threshold if s.ending == "confidence" else 0.0
    doubtful = s.confidence < max(SETTLED, wanted)
    return "unsettled" if unjudged or failed or doubtful or s.unseen else s.ending


def _finish(s: State, v: View, says: Says) -> Step:
    more = {"what": s.short} if s.short else {}
    s = replace(s, confidence=at_the_end(s))
    reason = settled(s, v)
    stop = Stop(reason=reason, certificate=raw({**figures(s, v, says), **more}))
    taken = s.verdict is not None and not s.refused
    return replace(s, phase=Phase.DONE, taken=taken), (*says, stop, Finish())


# ---------------------------------------------------------------- the verdict


def on_verdict(s: State, e: Answered, v: View) -> Step:
    """One that contradicts the debate is not taken; one that reverses is the judge's own; one that narrows is
    signed. One in the answerer's words stands in its spelling: nobody signs it."""
    given: Verdict = e.body
    standing = answer(v, s.answer)
    assert standing is not None, "a verdict is on an answer"
    if given.ruling == UPHOLDS:
        given = replace(given, answer="")
    elif same(given.answer, standing.answer):
        given = replace(given, answer=standing.answer)
    says: Says = (say("verdict", e.round, given, e.seat),)
    s = replace(s, refused=departs(given, s, v), verdict=v.next_post, signed=())
    if s.refused or given.ruling == UPHOLDS or same(given.answer, standing.answer):
        return _last_look(s, v, says)
    if given.ruling == REVERSES:
        return _finish(replace(s, reversed_by=given.reversed_by), v, says)
    return replace(s, phase=Phase.SIGNING), (*says, ask_sign(s, v, given.answer))


def on_no_verdict(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """The result falls back on the answer that stands; a verdict that was not signed stands beneath it."""
    return _last_look(replace(s, refused=f"answer: {s.unsigned}" if s.unsigned else "", signed=()), v, ())


def on_signed(s: State, e: Answered, v: View) -> Step:
    """The answerer says whether a verdict that narrows states its answer, or less of it; then the critic looks at
    it."""
    given = verdict(v, s.verdict)
    assert given is not None, "a verdict is signed"
    signature: Signature = e.body
    says: Says = (say("signature", e.round, signature, e.seat),)
    if signature.states == "no":
        clause = f": {signature.differs!r}" if stands_in(signature.differs, given.answer) else ""
        why = f"the answerer says that this does not state its answer{clause}"
        if not s.unsigned:
            return _back(s, v, why, says)
        return _last_look(replace(s, refused=f"answer: {why}"), v, says)
    return _ask_critic(replace(s, signed=(e.seat,)), v, says, given.answer)


def on_not_signed(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """Who says nothing has not signed, and other words of the judge's would not help."""
    return _last_look(replace(s, refused=f"answer: {_silent(e)}"), v, ())


def _back(s: State, v: View, why: str, says: Says) -> Step:
    """A verdict that is not signed goes back to the judge, once."""
    s = replace(s, phase=Phase.CONCLUDING, unsigned=why)
    return s, (*says, ask_verdict(s, v, settled(s, v)))


def _silent(e: Missed | Unaffordable) -> str:
    why = f"{e.seat} did not reply: {e.why}" if isinstance(e, Missed) else f"it could not be asked: {e.what}"
    return why[:1_000]


# ---------------------------------------------------------------- the critic's last look


def _last_look(s: State, v: View, says: Says) -> Step:
    """Where the debate would end with 0, the critic says what is open against the answer as it stands: once, and only
    if it objected to something, or has not spoken of this answer."""
    known = not s.profile and s.seen == s.answer
    if known or not STOPS[settled(s, v)].converged:
        return _finish(s, v, says)
    return _ask_critic(s, v, says, "")


def _ask_critic(s: State, v: View, says: Says, narrowed: str) -> Step:
    return replace(s, phase=Phase.COUNTERSIGNING), (*says, ask_countersign(s, v, narrowed))


def on_countersigned(s: State, e: Answered, v: View) -> Step:
    """What the critic names is open again, by its number alone, and a fault is an objection that nobody judged. A
    verdict that narrows goes back with it once, and then decides nothing."""
    given: Countersignature = e.body
    says: Says = (say("countersignature", e.round, given, e.seat),)
    named = tuple(o.number for o in s.profile if o.number in given.open)
    fault = given.fatal.strip()
    against = fault or (f"objection {named[0]} is open: {s.profile[named[0] - 1].text}" if named else "")
    if s.signed and against and not s.unsigned:
        return _back(s, v, f"the critic holds against it: {against}", says)
    agrees = not fault and set(named) <= set(s.open_objections())
    s = replace(s, countersigned=agrees, profile=tuple(_disputed(o, given) for o in s.profile))
    if fault:
        s = replace(s, profile=(*s.profile, Objection(number=len(s.profile) + 1, round=s.now.number, text=fault)))
    if s.signed and against:
        s = replace(s, refused=f"answer: the critic holds against it: {against}", signed=())
    return _finish(replace(s, signed=(*s.signed, e.seat)) if agrees else s, v, says)


def _disputed(o: Objection, given: Countersignature) -> Objection:
    """Open again with its weight. What only the judge took for worthless has none that both go by."""
    if o.number not in given.open or not o.answered:
        return o
    o = replace(o, answered=False, disputed=given.reason.strip() or "the critic gives no reason")
    return replace(o, closed=False, weight=msgspec.UNSET) if o.closed else o


def on_unseen(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """Nobody says what the critic holds against the answer. A verdict that narrows is not signed."""
    refused = f"answer: {_silent(e)}" if s.signed else s.refused
    unseen = _silent(e) if STOPS[settled(s, v)].converged else ""
    return _finish(replace(s, unseen=unseen, refused=refused, signed=()), v, ())
