"""madp: handles the result of a check: before the work to the lead, after it to whoever reviews, or
to the lead as a finding. It is run by a seat of its own (role `check`), whose key is no expert's; what it proves is
coordinator/protocols/madp/evidence/proof.py."""

import msgspec

from parley.coordinator.protocols.madp.evidence.proof import restored_words, weakened_words
from parley.coordinator.protocols.madp.items import end, warn
from parley.coordinator.protocols.madp.state import Says, State, say
from parley.coordinator.protocols.madp.turns import proven, read_work, to_work
from parley.coordinator.protocols.madp.work import review, stuck
from parley.coordinator.table import Answered, Missed, Step, View
from parley.schemas.protocols.madp.messages import Settings
from parley.schemas.protocols.madp.work import Checked, Finding

replace = msgspec.structs.replace
_UNCOMPARED = "it had no result before the work, so nobody can say whether tests were taken away"


def on_checked(s: State, e: Answered, v: View) -> Step:
    """What the command came to."""
    return _checked(s, v, e.body, e.seat)


def on_not_checked(s: State, e: Missed, v: View) -> Step:
    """Nobody ran the check: work does not begin without it, and is not approved without it."""
    settings: Settings = v.settings
    why = f"nobody ran it: {e.why}"[:1_000]
    when = "after" if s.rounds else "before"
    checked = Checked(when=when, command=settings.check, ended=why, ran=False)  # type: ignore[arg-type]
    return _checked(s, v, checked, "")


def _checked(s: State, v: View, checked: Checked, seat: str) -> Step:
    says: Says = (say(s, "checked", checked, seat),)
    if checked.ended:
        s, says = warn(
            s, says, f"the check `{checked.command}` came to no result {checked.when} the work: {checked.ended}"
        )
    if restored := restored_words(checked):
        s, says = warn(s, says, restored)
    if touched := weakened_words(checked):
        s, says = warn(s, says, touched)
    s = replace(s, checks=(*(c for c in s.checks if c.when == "before"), checked))
    if checked.when == "before":
        return _before(s, v, says, checked)
    ok, why = proven(s, v)
    if ok or (checked.exit is None and not _ended_by_a_limit(checked)):
        why = why or (_UNCOMPARED if _no_result(s) else "")
        if ok and why:
            s, says = warn(s, says, f"the check `{checked.command}`: {why}")
        return review(s, v, says, read_work(s, v))
    text = f"The check `{checked.command}` does not show that the work is right: {why}"
    text = f"{text}. Moreover, {restored}" if restored else text
    s = replace(s, findings=(Finding(severity="critical", description=text[:4_000]),))
    if s.revisions >= v.settings.max_reviews:
        return stuck(s, v, says)
    return to_work(replace(s, revisions=s.revisions + 1), v, says)


def _before(s: State, v: View, says: Says, checked: Checked) -> Step:
    """The check cannot be run, so that no work could be approved: none is begun, and none is paid."""
    if not checked.ran:
        return end(s, v, says, "no_check", why=checked.ended)
    return to_work(s, v, says)


def _ended_by_a_limit(checked: Checked) -> bool:
    """The check ran and did not end, as when the work hangs: the lead must repair that."""
    return checked.exit is None and checked.ran


def _no_result(s: State) -> bool:
    """The result of the run before the work."""
    return any(c.when == "before" and c.exit is None for c in s.checks)
