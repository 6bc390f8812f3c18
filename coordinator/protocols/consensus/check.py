"""consensus: semantic faults of a reply, in words that the model is shown with its next attempt."""

from collections import Counter
from collections.abc import Sequence

from parley.coordinator.protocols.consensus.state import Group, State, position, sides
from parley.coordinator.table import OpenTurn, View
from parley.schemas.citation import Citation
from parley.schemas.protocols.consensus import CompareBrief, Comparison, Conclusion, Position
from parley.schemas.session import Document
from parley.schemas.text import normalise, squeeze, stands_in
from parley.schemas.wire import decode

Fault = tuple[str, str]
"""What is wrong, and what to do about it."""


def check(state: State, turn: OpenTurn, body: object, view: View) -> str:
    """The first fault of a reply; empty if there is none."""
    if isinstance(body, Position):
        fault, way_out = _position(turn, body, view) or ("", "")
        return f"{fault}; {way_out}" if way_out else fault
    if isinstance(body, Comparison):
        return _partition(turn, body)
    if isinstance(body, Conclusion):
        return _concludes(state, turn, body, view)
    return ""


def _position(turn: OpenTurn, p: Position, view: View) -> Fault | None:
    return _quotes(p, view) or _moved(turn, p, view) or _first(turn, p, view) or _argument(turn, p)


def _document(view: View, name: str) -> Document | None:
    return next((d for d in view.opened.documents if d.name == name), None)


def _quotes(p: Position, view: View) -> Fault | None:
    """Every quotation stands in the document that it names, white space aside."""
    for field, cited in (("citations", p.citations), ("moved_by", p.moved_by)):
        for c in cited:
            document = _document(view, c.document)
            if document is None:
                way_out = "name one that you hold or that others quote" if view.opened.documents else "leave it empty"
                return f"{field}: there is no document {c.document!r}", way_out
            if not stands_in(c.quote, document.text):
                wrong = f"{field}: this does not stand in {c.document}, quote it word for word: {c.quote[:200]!r}"
                return wrong, "or leave it out"
    return None


def _earlier(turn: OpenTurn, view: View) -> Position | None:
    """The seat's last answer; None: it has given none."""
    own = None if turn.ask.own is None else position(view, turn.ask.own)
    return None if own is None or own.abstains else own


def _first(turn: OpenTurn, p: Position, view: View) -> Fault | None:
    """A seat that has not answered before cannot have changed."""
    if p.change == "kept" or _earlier(turn, view):
        return None
    return f"change: {p.change}, but you have no earlier position", "say kept"


def _moved(turn: OpenTurn, p: Position, view: View) -> Fault | None:
    """Evidence that moved a seat must be new to it: from a document that it does not hold, or not cited by it
    before."""
    if not p.moved_by:
        return None
    if turn.ask.kind == "answer":
        return "moved_by: nobody has shown you anything yet", "leave it empty"
    seat = turn.ask.seat
    cited = {_key(c) for post in view.posts if post.seat == seat and post.kind == "position"
             for c in position(view, post.n).citations}  # fmt: skip
    for c in p.moved_by:
        document = _document(view, c.document)
        if document is not None and seat in document.holders and _key(c) in cited:
            wrong = f"moved_by: you cited this yourself before, it is not new to you: {c.quote[:200]!r}"
            return wrong, "leave it out, and say in change_reason which argument moved you"
    return None


def _key(c: Citation) -> tuple[str, str]:
    return c.document, squeeze(c.quote)


def _argument(turn: OpenTurn, p: Position) -> Fault | None:
    """An argument that moved a seat must stand in a position that it was shown."""
    if p.argument and p.argument.post not in turn.ask.sees:
        shown = ", ".join(map(str, sorted(turn.ask.sees)))
        return (
            f"argument: post {p.argument.post} was not shown to you",
            f"name one of {shown}, or leave it out" if shown else "leave it out",
        )
    return None


def _partition(turn: OpenTurn, c: Comparison) -> str:
    """Every position must be in exactly one group, and each group has a label of its own."""
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
    labels = Counter(normalise(g.label) for g in c.groups)
    twice = [g.label for g in c.groups if labels[normalise(g.label)] > 1]
    if twice:
        return f"groups: {twice[0]!r} is the label of two; one answer is one group, with all its posts"
    unknown = set(c.argued) - {m.post for m in brief.moves}
    if unknown:
        return f"argued: {', '.join(map(str, sorted(unknown)))}: not in moves; name posts of moves alone"
    return ""


def departs(c: Conclusion, answer_groups: Sequence[Group]) -> str:
    """The label of the answer that a conclusion words instead of the prevailing one; empty: it words that one."""
    answer = normalise(c.answer)
    other = next((g.label for g in answer_groups[1:] if answer in (normalise(g.answer), normalise(g.label))), "")
    return other or ("" if normalise(c.group) == normalise(answer_groups[0].label) else c.group)


def _concludes(state: State, turn: OpenTurn, c: Conclusion, view: View) -> str:
    """The conclusion must word the prevailing answer. Another one is refused once; if it comes again, the result shows
    that it departs (outcome.departing)."""
    answer_groups = sides(state, view)
    other = departs(c, answer_groups)
    if turn.ask.attempt > 1 or not other:
        return ""
    return (
        f"group: the answer that prevailed is {answer_groups[0].label!r}, and you word {other!r};"
        " word the one that prevailed, and put what speaks for the other into reasoning"
    )
