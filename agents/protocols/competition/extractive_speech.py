"""What a debater without a language model says in public, by what the speech is for."""

from collections.abc import Sequence
from itertools import pairwise

from parley.agents.context import Shown
from parley.agents.model.injection import is_suspicious
from parley.agents.protocols.competition.extractive_choice import clashes, fresh, last, ranked, target_of
from parley.agents.protocols.competition.extractive_composition import (
    OPENERS,
    ROOM_FOR_WHO,
    WHO,
    SpeechDraft,
    point,
    reply,
    shortened,
)
from parley.agents.protocols.competition.extractive_reading import (
    DebaterView,
    DocumentLine,
    PublicSpeech,
    counted,
    quotes,
    reading,
)
from parley.agents.retrieval.corpus import clean
from parley.schemas.protocols.competition.messages import SpeechBrief, Spoken

MOST_POINTS = 8
OF_A_CASE = 0.25
"""Share of the unused sentences that a first speech may take: the others are for those who come later."""


def speak(shown: Shown) -> tuple[Spoken, bool]:
    """A speech, by what it is for."""
    brief: SpeechBrief = shown.brief
    r = reading(shown, brief.me)
    reserved = counted(WHO) if brief.words >= ROOM_FOR_WHO else 0
    draft = SpeechDraft(brief.words, reserved)
    if brief.act == "summary":
        _sum_up(draft, r)
    elif brief.act == "free":
        _debate(draft, r)
    elif brief.act == "closing":
        _close(draft, r, brief)
    else:
        _open(draft, r, brief)
    return spoken(draft, reserved, r, shown, brief.words), r.injected


def spoken(draft: SpeechDraft, reserved: int, r: DebaterView, shown: Shown, limit: int) -> Spoken:
    """The finished text and what it cites. `reserved` words are for the sentence that no language model is at work."""
    if draft.empty:
        _least(draft, r, limit)
    draft.free(reserved)
    if reserved:
        draft.add(WHO)
    return Spoken(text=draft.text, citations=draft.citations(shown.error if shown.attempt > 1 else ""))


def _least(draft: SpeechDraft, r: DebaterView, limit: int) -> None:
    """A few words, where there is room for no more or nothing to quote."""
    short = [x for x in fresh(r, ranked(r, target_of(r))) if counted(x.text) <= limit]
    if short and draft.add(f"“{clean(short[0].text)}”", short[0]):
        return
    for text in (
        f"On the motion “{shortened(r.motion, 12)}” we hold to what we said.",
        "We hold to what we said.",
        "Yes.",
    ):
        if draft.add(text):
            return


def _open(draft: SpeechDraft, r: DebaterView, brief: SpeechBrief) -> None:
    """The case: the motion, the side, points, what they come to."""
    earlier = [h for h in r.heard if h.team == r.team and h.body.act == "speech"]
    draft.add(f"The motion: {r.motion} {_side(r, brief.me.stance)}" if not earlier else _side(r, brief.me.stance))
    _rebut(draft, r, most=1 if r.opposing else 0)
    lines = fresh(r, ranked(r))
    _points(draft, r, lines, min(MOST_POINTS, max(3, round(OF_A_CASE * len(lines)))))
    draft.add("That is why our side of the motion is the better one." if draft.cited else _nothing())


def _debate(draft: SpeechDraft, r: DebaterView) -> None:
    """First the other side's last speech, then what the captain wants."""
    _rebut(draft, r, most=1)
    _points(draft, r, ranked(r, target_of(r)), 3)


def _sum_up(draft: SpeechDraft, r: DebaterView) -> None:
    """What was asked and answered, then what stands."""
    draft.add("What did the cross-examination bring?")
    for question, answer in pairwise(h for h in r.heard if h.body.act in ("question", "answer")):
        if (question.body.act, answer.body.act) != ("question", "answer") or not question.body.questions:
            continue
        theirs = [q for q in question.body.questions if not is_suspicious(q)][:1]
        claims = [c.text for c in answer.claims][:1]
        who, whom = ("We", "they") if question.team == r.team else ("They", "we")
        for q in theirs:
            reply = (
                f"and {whom} answered “{shortened(claims[0], 22)}”" if claims else f"and {whom} showed nothing for it"
            )
            draft.add(f"{who} asked about “{shortened((quotes(q) or [q])[0], 22)}”, {reply}.")
    _rebut(draft, r, most=1, speeches=[h for h in r.opposing if h.body.act == "answer"])
    _points(draft, r, ranked(r, target_of(r)), 2)
    draft.add("So far the answers leave our side of the motion standing.")


def _close(draft: SpeechDraft, r: DebaterView, brief: SpeechBrief) -> None:
    """The clashes, and how they fell."""
    draft.add(f"This debate turned on a few clashes. {_side(r, brief.me.stance)}")
    _rebut(draft, r, most=4, speeches=r.opposing)
    _points(draft, r, ranked(r), 3)
    draft.add("Weigh these clashes one by one, and our side of the motion is left." if draft.cited else _nothing())


def _rebut(draft: SpeechDraft, r: DebaterView, most: int, speeches: Sequence[PublicSpeech] | None = None) -> None:
    """Claims of the other side, each with what stands against it."""
    most += most > 0 and r.style == "aggressive"
    for claim, line in clashes(r, last(r) if speeches is None else speeches)[:most]:
        draft.add(reply(r.style, claim.text, line), line)


def _points(draft: SpeechDraft, r: DebaterView, lines: Sequence[DocumentLine], most: int) -> None:
    """Sentences that the draft does not have yet, and that the team has not used, where others are left."""
    openers = OPENERS[r.style]
    taken = 0
    for line in [x for x in fresh(r, lines) if x not in draft.cited]:
        if taken == most:
            break
        taken += draft.add(point(openers[taken] if taken < len(openers) else "And further", line), line)


def _side(r: DebaterView, stance: str) -> str:
    position = "" if stance in ("for the motion", "against the motion") or is_suspicious(stance) else clean(stance)
    return f"We speak {'for' if r.team == 'pro' else 'against'} it.{f' We hold: {position}' if position else ''}"


def _nothing() -> str:
    return "We hold no document that speaks for our side, and claim nothing that we cannot show."
