"""consensus: semantic faults of a reply, in words that the model is shown with its next attempt."""

from collections import Counter
from collections.abc import Sequence

from parley.coordinator.protocol_parts import unquoted
from parley.coordinator.protocols.consensus import deciding
from parley.coordinator.protocols.consensus.signing import chosen, contradicts
from parley.coordinator.protocols.consensus.state import Group, State, position, sides
from parley.coordinator.signals.count_contradictions import all_of_one_mind
from parley.coordinator.table import OpenTurn, View
from parley.schemas.protocols.consensus import CompareBrief, Comparison, Conclusion, Position, Signature, SignBrief
from parley.schemas.text import Citation, answer_key, same, says_something, squeeze, stands_in
from parley.schemas.wire import decode


def check(state: State, turn: OpenTurn, body: object, view: View) -> str:
    """The first fault of a reply; empty if there is none."""
    if isinstance(body, Position):
        return (
            _empty(turn, body, view)
            or unquoted(body.citations, view)
            or unquoted(body.moved_by, view, "moved_by")
            or _moved(turn, body, view)
            or _first(turn, body, view)
            or _argument(turn, body)
        )
    if isinstance(body, Comparison):
        return _partition(turn, body, view)
    if isinstance(body, Signature):
        return _signature(state, turn, body, view)
    if ballot := deciding.check(turn, body, view):
        return ballot
    if isinstance(body, Conclusion):
        if not says_something(body.answer):
            return f"answer: {body.answer[:50]!r} has no letter or digit; word the answer"
        return _concludes(state, turn, body, view)
    return ""


def _empty(turn: OpenTurn, p: Position, view: View) -> str:
    """An answer that names none is refused once; after that it is an abstention (Position.speaks)."""
    if p.abstains or p.speaks or turn.ask.attempt >= view.attempts:
        return ""
    return f"answer: {p.answer[:80]!r} names no answer; write it out in words of your own, or say that you abstain"


def _moved(turn: OpenTurn, p: Position, view: View) -> str:
    """Evidence that moved a seat must be new to it: from a document that it does not hold, or not cited by it
    before."""
    if not p.moved_by:
        return ""
    if turn.ask.kind == "answer":
        return "moved_by: nobody has shown you anything yet; leave it empty"
    seat = turn.ask.seat
    cited = {
        _key(c)
        for post in view.posts
        if post.seat == seat and post.kind == "position"
        for c in position(view, post.n).citations
    }
    held = {d.name for d in view.opened.evidence if seat in d.holders}
    again = next((c for c in p.moved_by if c.document in held and _key(c) in cited), None)
    if again is None:
        return ""
    return (
        f"moved_by: you cited this yourself before, it is not new to you: {again.quote[:200]!r}; leave it out, and say"
        " in change_reason which argument moved you"
    )


def _key(c: Citation) -> tuple[str, str]:
    return c.document, squeeze(c.quote)


def _first(turn: OpenTurn, p: Position, view: View) -> str:
    """A seat that has not answered before cannot have changed."""
    if p.change == "kept" or (turn.ask.own is not None and position(view, turn.ask.own).speaks):
        return ""
    return f"change: {p.change}, but you have no earlier position; say kept"


def _argument(turn: OpenTurn, p: Position) -> str:
    """An argument that moved a seat must stand in a position that it was shown."""
    if not p.argument or p.argument.post in turn.ask.sees:
        return ""
    shown = ", ".join(map(str, sorted(turn.ask.sees)))
    way_out = f"name one of {shown}, or leave it out" if shown else "leave it out"
    return f"argument: post {p.argument.post} was not shown to you; {way_out}"


def _partition(turn: OpenTurn, c: Comparison, view: View) -> str:
    """Every position must be in exactly one group, each group has a label of its own, and equal words are not
    parted."""
    brief = decode(turn.ask.brief, CompareBrief)
    wanted = {w.post for w in brief.positions}
    named = Counter(post for g in c.groups for post in g.posts)
    listed = ", ".join(map(str, sorted(wanted)))
    for what, posts in (
        ("in no group", wanted - set(named)),
        ("no position", set(named) - wanted),
        ("in more than one group", {post for post, n in named.items() if n > 1}),
    ):
        if posts:
            return f"groups: {', '.join(map(str, sorted(posts)))}: {what}; put each of {listed} into exactly one"
    labels = Counter(answer_key(g.label) for g in c.groups)
    twice = [g.label for g in c.groups if labels[answer_key(g.label)] > 1]
    if twice:
        return f"groups: {twice[0]!r} is the label of two; one answer is one group, with all its posts"
    first: dict[str, tuple[int, int]] = {}
    for place, g in enumerate(c.groups):
        for post in g.posts:
            answer = position(view, post).answer
            at, other = first.setdefault(answer_key(answer), (place, post))
            if at != place:
                return f"groups: {other} and {post} say the same word for word, {answer[:200]!r}; put them together"
    for g in c.groups:
        others = (post for other in c.groups if other is not g for post in other.posts)
        taken = next((post for post in others if same(position(view, post).answer, g.label)), None)
        if taken is not None:
            return f"groups: {g.label!r} is what post {taken} of another group says; name each by its own answer"
    unknown = set(c.argued) - {m.post for m in brief.moves}
    if unknown:
        return f"argued: {', '.join(map(str, sorted(unknown)))}: not in moves; name posts of moves alone"
    return ""


def departs(c: Conclusion, answer_groups: Sequence[Group]) -> str:
    """The label of the answer that a conclusion words instead of the first one; empty: it may word that one. Who signs
    it decides."""
    other = next((g.label for g in answer_groups[1:] if same(c.answer, g.answer) or same(c.answer, g.label)), "")
    return other or ("" if not c.group or same(c.group, answer_groups[0].label) else c.group)


def _concludes(state: State, turn: OpenTurn, c: Conclusion, view: View) -> str:
    """The conclusion must word the answer of the first group. Another one is refused once; if it comes again, a seat's
    own words are put, and the result shows what departed."""
    answer_groups = sides(state, view)
    other = departs(c, answer_groups)
    if turn.ask.attempt > 1:
        return ""
    if not other:
        reasons = c.reasoning if len(answer_groups) > 1 else ""
        told = all_of_one_mind(f"{c.answer}\n{reasons}")
        counted = "; ".join(f"{len(g.seats)} hold {g.label!r}" for g in answer_groups[:4])
        return f"it says that all agree, and nobody has signed yet: {counted}; word the answer alone" if told else ""
    return (
        f"group: the answer that most hold is {answer_groups[0].label!r}, and you word {other!r};"
        " word the one that most hold, and put what speaks for the other into reasoning"
    )


def _signature(state: State, turn: OpenTurn, given: Signature, view: View) -> str:
    """Whoever does not sign quotes the clause that differs from its own answer. Without it, it is asked once more."""
    brief = decode(turn.ask.brief, SignBrief)
    if given.states in ("second", "both") and brief.second is None:
        return "states: there is no second sentence; say first or neither"
    if turn.ask.attempt < view.attempts and (taken := chosen(brief, given.states)) is not None:
        rival = next((x.sentence for x in (brief.first, brief.second) if x not in (None, taken)), "")
        if contradicts(given.reservation, taken.sentence, rival):
            return "reservation: it contradicts the sentence that you choose; say neither, or leave the reservation out"
    if given.states == "both" or not brief.yours or turn.ask.attempt >= view.attempts:
        return ""  # it signs; or it has no answer that could differ; or its choice counts without the words
    choice = chosen(brief, given.states)
    if choice is not None and choice.sentence == state.puts[-1].sentence:
        return ""
    if choice is not None and same(choice.sentence, brief.yours):
        return ""  # the rival is its own answer, word for word
    left = [x.sentence for x in (brief.first, brief.second) if x not in (None, choice)]
    if any(stands_in(given.differs, text) for text in left):
        return ""
    return (
        "differs: quote word for word, of a sentence that you do not choose, the clause that differs from your answer"
    )
