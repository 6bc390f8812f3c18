"""critic: how a debate ends: why, with which verdict, and who signed it.

Exit status 0 says that nothing stands against the answer (docs/critic.md, "How it ends"). A verdict is the judge's
wording of the answer that was debated: the answerer says whether it is, and the critic whether one that narrows leaves
an open objection out. One that reverses is the judge's own answer, and settles nothing.
"""

import msgspec

from parley.coordinator.commands import Finish, Stop
from parley.coordinator.protocols.critic.check import departs
from parley.coordinator.protocols.critic.confidence import refused_by, survived, was_heard
from parley.coordinator.protocols.critic.outcome import figures
from parley.coordinator.protocols.critic.state import Phase, Says, State, answer, say, verdict
from parley.coordinator.protocols.critic.turns import COUNTERSIGN, ask_countersign, ask_sign, ask_verdict
from parley.coordinator.table import Answered, Missed, Step, Unaffordable, View
from parley.schemas.protocols.critic import NARROWS, REVERSES, Countersignature, Signature, Verdict
from parley.schemas.stops import STOPS
from parley.schemas.text import same, stands_in
from parley.schemas.wire import raw

SETTLED = 50.0
"""Points of confidence below which nothing is settled: the answer is as likely wrong as right."""
replace = msgspec.structs.replace


def conclude(s: State, v: View, reason: str, says: Says, short: str = "") -> Step:
    """The debate is over: the judge writes its verdict."""
    s = replace(s, phase=Phase.CONCLUDING, ending=_ending(s, reason), short=short)
    return s, (*says, ask_verdict(s, v))


def _ending(s: State, reason: str) -> str:
    """Why the debate ended. Nothing is settled while an objection overturns the answer, or one that nobody judged is
    open, or the last round was not judged, or the one thing that was tested did not hold, or nobody attacked the answer
    at all, or confidence is low."""
    if not STOPS[reason].converged:
        return reason
    if refused_by(s):
        return "overturned"
    unjudged = s.now.source != "judge" or any(not o.answered and o.weight is msgspec.UNSET for o in s.profile)
    failed = s.now.checked is False and not survived(s)[1]
    doubtful = s.confidence < SETTLED or not was_heard(s)
    return "unsettled" if unjudged or failed or doubtful else reason


def _finish(s: State, v: View, says: Says) -> Step:
    """The stop decision with its certificate. An answer that the verdict reversed is overturned, whatever ended the
    debate."""
    more = {"what": s.short} if s.short else {}
    reason = "overturned" if s.reversed_by else s.ending
    stop = Stop(reason=reason, certificate=raw({**figures(s, v, says), **more}))
    taken = s.verdict is not None and not s.refused
    return replace(s, phase=Phase.DONE, taken=taken), (*says, stop, Finish())


def on_verdict(s: State, e: Answered, v: View) -> Step:
    """One that is the answer word for word needs no signature; one that contradicts the debate is not taken; one that
    reverses is the judge's own. Every other one is signed."""
    given: Verdict = e.body
    says: Says = (say("verdict", e.round, given, e.seat),)
    standing = answer(v, s.answer)
    assert standing is not None, "a verdict is on an answer"
    s = replace(s, refused=departs(given, s, v), verdict=v.next_post, signed=())
    if s.refused or same(given.answer, standing.answer):
        return _finish(s, v, says)
    if given.ruling == REVERSES:
        return _finish(replace(s, reversed_by=given.reversed_by), v, says)
    return replace(s, phase=Phase.SIGNING), (*says, ask_sign(s, v, given))


def on_signed(s: State, e: Answered, v: View) -> Step:
    """The answerer says whether the verdict states its answer; then, where it narrows, the critic whether an open
    objection is left out."""
    given = verdict(v, s.verdict)
    assert given is not None, "a verdict is signed"
    if e.kind == COUNTERSIGN:
        return _on_countersigned(s, e, v)
    signature: Signature = e.body
    says: Says = (say("signature", e.round, signature, e.seat),)
    if signature.states == "no":
        clause = f": {signature.differs!r}" if stands_in(signature.differs, given.answer) else ""
        return _unsigned(s, v, f"the answerer says that this does not state its answer{clause}", says)
    s = replace(s, signed=(e.seat,))
    if given.ruling == NARROWS and s.open_objections():
        return s, (*says, ask_countersign(s, v, given))
    return _finish(s, v, says)


def _on_countersigned(s: State, e: Answered, v: View) -> Step:
    """Left out counts only with the number of an open objection."""
    given: Countersignature = e.body
    says: Says = (say("countersignature", e.round, given, e.seat),)
    if given.left_out in s.open_objections():
        text = s.profile[given.left_out - 1].text
        return _unsigned(s, v, f"the critic says that objection {given.left_out} is left out: {text}", says)
    return _finish(replace(s, signed=(*s.signed, e.seat)), v, says)


def _unsigned(s: State, v: View, why: str, says: Says) -> Step:
    """It goes back once; then the answer stands, and the verdict beneath it."""
    if s.unsigned:
        return _finish(replace(s, refused=f"answer: {why}"), v, says)
    s = replace(s, phase=Phase.CONCLUDING, unsigned=why)
    return s, (*says, ask_verdict(s, v))


def on_not_signed(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """Who says nothing has not signed, and other words of the judge's would not help."""
    why = f"{e.seat} did not sign: {e.why}" if isinstance(e, Missed) else f"nobody could be asked to sign: {e.what}"
    return _finish(replace(s, refused=f"answer: {why[:1_000]}"), v, ())


def on_no_verdict(s: State, e: Missed | Unaffordable, v: View) -> Step:
    """The result falls back on the answer that stands; a verdict that was not signed stands beneath it."""
    return _finish(replace(s, refused=f"answer: {s.unsigned}" if s.unsigned else ""), v, ())
