"""madp: the check comes back (since version 2): before the work to the lead, after it to whoever reviews, or to the
lead as a finding. It is run by a seat of its own (role `check`), whose key is no expert's; what it proves is
coordinator/protocols/madp/proof.py."""

import msgspec

from coordinator.protocols.madp.items import warn
from coordinator.protocols.madp.state import Says, State, checks, say
from coordinator.protocols.madp.turns import proven, read_work, to_work
from coordinator.protocols.madp.work import review, stuck
from coordinator.table import Answered, Missed, Step, View
from schemas.protocols.madp.messages import Settings
from schemas.protocols.madp.work import Checked, Finding

replace = msgspec.structs.replace


def on_checked(s: State, e: Answered, v: View) -> Step:
    """What the command came to."""
    return _checked(s, v, e.body, e.seat)


def on_not_checked(s: State, e: Missed, v: View) -> Step:
    """Nobody ran it: the task goes on, and is not approved."""
    settings: Settings = v.settings
    why = f"nobody ran it: {e.why}"[:1_000]
    when = "after" if s.rounds else "before"
    return _checked(s, v, Checked(when=when, command=settings.check, ended=why), "")  # type: ignore[arg-type]


def _checked(s: State, v: View, found: Checked, seat: str) -> Step:
    says: Says = (say(s, "checked", found, seat),)
    if found.ended:
        s, says = warn(s, says, f"the check `{found.command}` came to no result {found.when} the work: {found.ended}")
    s = replace(s, checks=(*(c for c in checks(s) if c.when == "before"), found))
    if found.when == "before":
        return to_work(s, v, says)
    ok, why = proven(s, v)
    if ok or found.exit is None:
        if ok and why:
            s, says = warn(s, says, f"the check `{found.command}`: {why}")
        return review(s, v, says, read_work(s, v))
    text = f"The check `{found.command}` does not show that the work is right: {why}"
    s = replace(s, findings=(Finding(severity="critical", description=text[:4_000]),))
    if s.revisions >= v.settings.max_reviews:
        return stuck(s, v, says)
    return to_work(replace(s, revisions=s.revisions + 1), v, says)
