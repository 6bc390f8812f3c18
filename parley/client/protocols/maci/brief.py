"""A MACI session on one screen: a line or two a round, the arguments once each, and a sentence at the end."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from parley.client.protocols.maci.story import Story, merged, top, unlike_words
from parley.client.protocols.maci.transcript import UNTESTED, met_words, named, outcome_of, shares, tested, warnings
from parley.client.show.lines import StyledLine
from parley.client.text import count, line
from parley.client.untrusted import mapping
from parley.schemas.belief import Belief, leading
from parley.schemas.post import Post
from parley.schemas.protocols.maci.messages import Argument, Blind, Case, Merged, Passages, Round, Ruled
from parley.schemas.result import Result

_TOP = 2
"""Outcomes of a belief that are told."""
_CARRIED = 3
"""Arguments that are told at the end."""
_NAME = 60
_WIDE = 90
_SPAN = 70


class Told:
    """Tells the posts of one session, in their order: what a round came to, and who changed its mind."""

    def __init__(self) -> None:
        self._new = 0
        self._known: set[tuple[str, ...]] = set()
        """Arguments that were admitted."""
        self._held: dict[str, str] = {}
        """Seat -> what it held to be most probable."""

    def lines(self, post: Post, body: Any) -> Iterator[StyledLine]:
        """One post, as its type."""
        match body:
            case Passages():
                documents = len({p.document for p in body.passages})
                source = "from the plan's queries" if body.queries else "for the question"
                yield "quiet", f"  {count(len(body.passages), 'passage')} {source}, from {count(documents, 'document')}"
            case Blind():
                yield "seat", f"  {line(post.seat)}, alone: {shares(body.belief, _TOP)}"
            case Merged():
                yield "score", f"  they propose {line(', '.join(g.name for g in body.groups), _WIDE)}"
            case Case(answers=answers) if answers:
                yield from (("seat", f"  {line(post.seat)}: {met_words(met, _WIDE)}") for met in answers)
            case Ruled(admitted=True):
                self._new += _key(body) not in self._known
                self._known.add(_key(body))
                if body.tests:
                    who = f"{line(body.id)} of {line(post.seat)}, for {line(body.speaks_for, _NAME)}"
                    yield "seat", f"  {who}: {line(body.claim, _WIDE)}"
            case Round():
                yield from self._round(body)

    def _round(self, body: Round) -> Iterator[StyledLine]:
        s, new = body.signals, self._new
        self._new = 0
        held = ", ".join(f"{line(share.outcome, _NAME)} {share.p:.2f}" for share in top(s.mixture, _TOP))
        news = f"; {count(new, 'new argument') if new else 'no new argument'}" if s.round else ""
        refused = f", {body.refused} refused" if body.refused else ""
        yield "score", f"  round {s.round}: disagreement {s.jsd:.2f}; {held}{news}{refused}"
        if body.next_advocate:
            yield "score", f"      {named(body)}"
        for seat, belief in body.beliefs.items():
            name, before = _first(belief), self._held.get(seat)
            if before not in (None, name):
                yield "seat", f"      {line(seat)} now holds {_called(name)}, before {_called(before or '')}"
            self._held[seat] = name


def _key(argument: Argument) -> tuple[str, ...]:
    """What makes two arguments the same, whoever brings them and when."""
    return (argument.claim, *sorted(span.quote for span in argument.spans))


def _first(belief: Belief) -> str:
    """The most probable outcome; empty where several are."""
    most = leading({share.outcome: share.p for share in belief})
    return most[0] if len(most) == 1 else ""


def _called(name: str) -> str:
    return line(name, _NAME) or "several outcomes as equally likely"


def beside(result: Result) -> Iterator[StyledLine]:
    """The strongest arguments, once each, and what speaks against trust."""
    outcome = outcome_of(result.outcome)
    best: dict[tuple[str, ...], tuple[Ruled, int]] = {}
    for ruled in outcome.record:
        kept, times = best.get(_key(ruled), (ruled, 0))
        best[_key(ruled)] = (max(kept, ruled, key=_worth), times + 1)
    ranked = sorted(best.values(), key=lambda pair: _worth(pair[0]), reverse=True)
    counts = f"Arguments: {len(best)} different admitted, {count(outcome.refused, 'refusal')}"
    yield "quiet", counts + ("; the strongest admitted:" if ranked else "")
    for ruled, times in ranked[:_CARRIED]:
        again = f" ({times} times)" if times > 1 else ""
        quote = f" “{line(ruled.spans[0].quote, _SPAN)}”" if ruled.spans else ""
        yield "", f"  {line(ruled.claim, _SPAN)}{quote}{again}"
    told = (unlike_words(result.rounds, outcome.record), warnings(outcome, result.stop.certificate))
    yield from (("score", text) for text in chain(*told))


def _worth(ruled: Ruled) -> tuple[float, float]:
    """What the judges gave it, and then how near its evidence is to the subject."""
    return (ruled.crit or 0.0, ruled.q or 0.0)


def dissent(story: Story, result: Result) -> str:
    """Debaters that hold something else in the end; empty where nobody knows."""
    if not story.rounds or not result.outcome.get("answer"):
        return ""
    held = {seat: _first(belief) for seat, belief in story.rounds[-1].beliefs.items()}
    others = {seat: name for seat, name in held.items() if name != result.outcome.get("answer")}
    told = (
        f"{line(seat)} holds {line(name, _NAME)}" if name else f"{line(seat)} holds several outcomes as equally likely"
        for seat, name in others.items()
    )
    return "; ".join(told) or "nobody"


def in_short(story: Story, result: Result, confidence: str) -> str:
    """Who agreed from when on, what the debate changed, what to find out next."""
    outcome = outcome_of(result.outcome)
    answer, seats = outcome.answer, len(story.blind)
    name = line(answer, _NAME)
    everybody = "both" if seats == 2 else f"all {seats}"
    alone = [_first(merged(story, blind)) for blind in story.blind.values()]
    apart = dissent(story, result)
    if not answer:
        alike = leading(outcome.mixture)
        text = (
            f"no answer: {len(alike)} outcomes are equally likely, and none more, {outcome.mixture[alike[0]]:.2f} each"
        )
    elif not seats:
        text = f"{name}, {confidence}"
    elif apart not in ("", "nobody"):
        text = f"no agreement: {name}, {confidence}; {apart}"
    elif not mapping(result.stop.certificate.get("one_mind")).get("holds", True):
        text = f"no agreement: {everybody} hold {name} most probable, not each by more than one half, {confidence}"
    else:
        what = [] if tested(result.stop.certificate) or not result.stop.converged else [UNTESTED]
        if result.stop.reason == "agreement":
            what = ["it stood a devil's advocate, whose arguments were met"]
        if all(first == answer for first in alone):
            text = f"{everybody} agreed from the start on {name}, {confidence}"
            what = what or ["the debate changed nothing"]
        else:
            moved = count(sum(first != answer for first in alone), "debater")
            text = f"{everybody} hold {name}, {confidence}; the debate changed the mind of {moved}"
        text = "; ".join((text, *what))
    tests = outcome.plan.tests if outcome.plan else ()
    return text + (f"; next: {line(tests[0].what, _WIDE)}" if tests else "")
