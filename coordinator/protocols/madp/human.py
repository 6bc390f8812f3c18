"""madp: what a human decides (seeds/madp.md 9.3): answers to open items, and who leads, at any time."""

import msgspec

from parley.coordinator.commands import CancelChild, CloseWindow
from parley.coordinator.protocols.madp.claims import posted_claims, withdraw_turns
from parley.coordinator.protocols.madp.evidence.risk import must_ask
from parley.coordinator.protocols.madp.items import close_item, end, warn, window_of
from parley.coordinator.protocols.madp.lead_changes import (
    alone,
    assign,
    consensus,
    hand_over,
    left_out,
    reassign,
    unless_unsafe,
)
from parley.coordinator.protocols.madp.state import (
    APPROVE,
    GIVE_UP,
    MOST_SEATED,
    OVERRIDE,
    STOP_HERE,
    Phase,
    Says,
    State,
    WorkTurn,
    announced_experts,
    expert_list,
    revisions,
    room,
)
from parley.coordinator.protocols.madp.turns import is_checked, proven, to_work
from parley.coordinator.protocols.madp.work import unheard_guards
from parley.coordinator.table import Decided, Illegal, Step, View, WindowClosed

replace = msgspec.structs.replace


def on_decided(s: State, e: Decided, v: View) -> Step:
    """No item is open: a human may still say who leads. Raises Illegal: it is an answer to something else, or names
    nobody that is there, or who leads already."""
    if e.item != OVERRIDE:
        what = "it is closed" if any(i.id == e.item for i in s.items) else "there is no such item"
        raise Illegal(f"item {e.item!r}: {what}; `{OVERRIDE}` with an expert's id changes who leads")
    return _override(s, e, v, ())


def on_item_decided(s: State, e: Decided, v: View) -> Step:
    """An answer to the open item. Raises Illegal: another item, or a choice that it does not have."""
    item = s.items[-1]
    if e.item == OVERRIDE:
        return _override(s, e, v, close_item(s, f"{e.choice} leads", e.note, e.author))
    if e.item != item.id:
        raise Illegal(f"item {e.item!r}: open is item {item.id!r}, and `{OVERRIDE}`")
    if item.choices and e.choice not in item.choices:
        raise Illegal(f"choice: got {e.choice!r}; item {item.id} has {', '.join(item.choices)}")
    return _settle(s, v, close_item(s, e.choice, e.note, e.author), e.choice, e.note, e.author)


def on_item_over(s: State, e: WindowClosed, v: View) -> Step:
    """Nobody answered in time: the default holds."""
    item = s.items[-1]
    assert e.name == window_of(item), "no other window is open while a human is waited for"
    return _settle(s, v, close_item(s, item.default, "", ""), item.default, "", "")


def _settle(s: State, v: View, says: Says, choice: str, note: str, author: str) -> Step:
    by = author or "nobody answered"
    match s.items[-1].kind:
        case "conflict":
            return _conflict(s, v, says, choice, author)
        case "security":
            return _security(s, v, says, choice, author)
        case "invalid":
            if choice == GIVE_UP:
                return end(s, v, says, "rejected", by=by, why=GIVE_UP)
            if choice == s.lead:
                return to_work(s, v, says)
            s = replace(s, overrides=s.overrides + bool(author))
            return hand_over(s, v, says, choice, f"{s.lead} gave no work that could be used", by)
        case "unchecked":
            left = "needs_human" if unheard_guards(s, v, says) else "unchecked"
            return end(s, v, says, "approved" if choice == APPROVE else left, by=by)
        case "review_limit":
            return _review_limit(s, v, says, choice, note, by)
    words = f"{choice}\n{note}".strip()  # blocked
    return to_work(replace(s, advice=f"A human answered:\n{words}" if author else choice), v, says)


def _conflict(s: State, v: View, says: Says, choice: str, author: str) -> Step:
    """Unanswered, the default leads, and is still to be safe."""
    if choice != s.lead:
        return reassign(s, v, says, choice, f"{author} settled it: {choice} leads")
    if author:
        return to_work(replace(s, conflict=""), v, says)
    s, says = warn(s, says, f"{s.conflict}: nobody settled it, {choice} leads")
    return unless_unsafe(s, v, says)


def _security(s: State, v: View, says: Says, choice: str, author: str) -> Step:
    if choice == STOP_HERE:
        return end(s, v, says, "rejected", by=author, why="a human stopped it before the work")
    if choice != s.lead:
        return reassign(s, v, says, choice, f"{author} chose {choice}")
    if not author and must_ask(v, s.security, bool(s.unmatched)):
        why = "security-critical, and nobody confirmed who leads while the coordination is degraded"
        return end(s, v, says, "needs_human", why=why)
    if not author:
        s, says = warn(s, says, f"security-critical, with low confidence: nobody confirmed it, {choice} leads")
    return to_work(s, v, says)


def _review_limit(s: State, v: View, says: Says, choice: str, note: str, by: str) -> Step:
    """9.1: emit with a warning."""
    if choice == "revise":
        return to_work(replace(s, revisions=s.revisions + 1, advice=note), v, says)
    if choice == "reject":
        return end(s, v, says, "rejected", by=by, why=note or "a human rejected the work")
    if is_checked(s, v) and not (proof := proven(s, v)).ok:
        s, says = warn(s, says, f"it ended although the check does not show that it is right ({proof.why})")
        return end(s, v, says, "unproven", by=by, why=proof.why)
    s, says = warn(s, says, f"it ended although reviews still ask for a revision, after {revisions(s)}")
    return end(s, v, says, "review_limit", by=by)


# ---------------------------------------------------------------- the choice of expert


def _override(s: State, e: Decided, v: View, says: Says) -> Step:
    """9.3's first: the user requests another expert. Whatever is under way for the task is withdrawn."""
    experts = announced_experts(v)
    if e.choice not in experts:
        raise Illegal(f"choice: got {e.choice!r}, no such expert is there; there are {expert_list(experts)}")
    if not room(v, e.choice):
        raise Illegal(f"choice: got {e.choice!r}; {MOST_SEATED} experts take part, no more may")
    if e.choice == s.lead:
        raise Illegal(f"choice: {e.choice} leads already")
    says = (*says, *withdraw_turns(v), *(CloseWindow(name=name) for name in v.windows))
    if s.child:
        says = (*says, CancelChild(session=s.child))
    why = e.note or f"a human chose {e.choice}"
    if not s.lead:
        if s.phase == Phase.CLAIMING:
            posts, s = posted_claims(s, v, False)
            says = (*says, *posts)
        decision = consensus(v, alone(s, e.choice), why, "human", excluded=left_out(s, e.choice, why))
        return assign(replace(s, overrides=s.overrides + 1), v, says, decision)
    if not s.rounds and s.phase == Phase.WAITING:
        return reassign(s, v, says, e.choice, why)
    if s.phase == Phase.WORKING:
        s = replace(s, rounds=(*s.rounds, WorkTurn(lead=s.lead, outcome="withdrawn")))
    s = replace(s, overrides=s.overrides + 1, child="", helping="", sub_task="")
    return hand_over(s, v, says, e.choice, why, e.author or "a human")
