"""The competition without a language model: debaters quote what their documents have for their side, and nothing else.

Which sentence one takes depends on what was said: one that its team has not used yet, that shares words with what it is
to answer (the other side's last speech, a question, its captain's direction), that speaks for its side, and that is of
its style. What a speech is for, the format says: a case, an answer, a summary of what was asked, claims met.
"""

from parley.agents.context import Shown
from parley.agents.model.injection import is_suspicious
from parley.agents.protocols.competition.extractive_choice import clashes, fresh, last, ranked, target_of
from parley.agents.protocols.competition.extractive_composition import (
    ROOM_FOR_WHO,
    WHO,
    SpeechDraft,
    listed,
    shortened,
    source,
)
from parley.agents.protocols.competition.extractive_reading import (
    DebaterView,
    DocumentLine,
    counted,
    fits_style,
    quotes,
    reading,
    shared,
    without_orders,
)
from parley.agents.protocols.competition.extractive_speech import spoken
from parley.agents.retrieval.corpus import STOP, clean, collapse, sentence, stem, words
from parley.schemas.protocols.competition.messages import (
    AnswerBrief,
    Bid,
    BidBrief,
    CaptainBrief,
    ConferBrief,
    Decision,
    Note,
    QuestionBrief,
    Questions,
    Spoken,
)

NOTED = 2
"""Sentences that a note plans for its seat."""
WORDS_OF_A_NOTE = 150
WORDS_OF_A_QUOTE = 16
"""In a question."""
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
QUESTIONS = (
    "You say “{claim}”: how does that square with “{counter}”?",
    "If “{claim}”, why should that speak for your side and not for ours?",
    "You rest on “{claim}”: for whom does it hold, and for whom not?",
    "How do you answer “{counter}”?",
    "What would have to be shown before you gave up “{claim}”?",
)
BARE_QUESTIONS = (
    "Which evidence do you have that the motion would do what you say?",
    "Who would pay for what you want?",
    "Who would be worse off on your side of the motion?",
    "What would change your mind?",
    "How do you know?",
    "Who pays?",
    "For whom?",
    "Since when?",
    "Why?",
)  # fmt: skip


# ---------------------------------------------------------------- within the team


def confer(shown: Shown) -> tuple[Note, bool]:
    """A note for the team: what this seat means to quote, and which claim of the other side to meet with what."""
    brief: ConferBrief = shown.brief
    r = reading(shown, brief.me)
    draft = SpeechDraft(WORDS_OF_A_NOTE)
    draft.add(f"{r.seat}: {WHO}")
    mates = collapse(" ".join(r.notes))
    open_ = [x for x in fresh(r, ranked(r)) if x.text not in mates] or ranked(r)
    for line in open_[:NOTED]:
        draft.add(f"I take “{clean(line.text)}” ({source(line.document)}).")
    for claim, line in [(c, x) for c, x in clashes(r, last(r)) if x.text not in mates][:1]:
        draft.add(f"To “{shortened(claim.text, 20)}” the answer is “{clean(line.text)}” ({source(line.document)}).")
    if not open_:
        draft.add("I hold nothing that speaks for us.")
    return Note(text=draft.text), r.injected


def captain(shown: Shown) -> tuple[Decision, bool]:
    """Who has not spoken goes first, then whoever wants to most, then whose notes bear on the other side's last speech,
    then who has spoken least."""
    brief: CaptainBrief = shown.brief
    r = reading(shown, brief.me)
    target = target_of(r)

    def key(seat: str) -> tuple[bool, float, float, int, int]:
        offer = brief.bids.get(seat)
        urgency = offer.urgency if offer is not None and offer.wants else 0.0
        noted = sentence(r.own_notes(seat) + (f" {without_orders(offer.point)}" if offer is not None else ""))
        bearing = shared(target, set(noted.stems) - r.terms)
        return seat not in brief.unspoken, -urgency, -bearing, brief.spoken.get(seat, 0), brief.may.index(seat)

    offered = any(is_suspicious(b.point) for b in brief.bids.values())
    return Decision(speaker=min(brief.may, key=key), direction=_direction(r, brief)), r.injected or offered


def _direction(r: DebaterView, brief: CaptainBrief) -> str:
    short = f" In {brief.words} words at most." if brief.words < ROOM_FOR_WHO else ""
    pairs = clashes(r, last(r))
    if pairs:
        claim, line = pairs[0]
        return f"Answer “{shortened(claim.text, 25)}” with “{clean(line.text)}” ({source(line.document)}).{short}"
    lines = fresh(r, ranked(r, target_of(r)))
    if lines:
        return f"Bring forward “{clean(lines[0].text)}” ({source(lines[0].document)}).{short}"
    return f"Say what our side stands for, and claim nothing that we cannot show.{short}"


def bid(shown: Shown) -> tuple[Bid, bool]:
    """It wants to speak if it has an unused sentence about what the other side said last, the more the nearer."""
    brief: BidBrief = shown.brief
    r = reading(shown, brief.me)
    spoke = any(h.body.seat == r.seat and h.body.act == "free" for h in r.heard)
    pairs = [(c, x) for c, x in clashes(r, last(r)) if x.text not in r.team_text]
    if pairs:
        claim, line = pairs[0]
        near = shared(r.apart(claim), r.apart(line.sentence))
        style = fits_style(r.style, line.sentence)
        urgency = round(min(1.0, 0.2 + 0.5 * near + 0.2 * style + 0.1 * (not spoke)), 3)
        return Bid(
            wants=True, urgency=urgency, point=f"To “{shortened(claim.text, 20)}”: {clean(line.text)}"
        ), r.injected
    return Bid(wants=not spoke, urgency=0.1, point="" if spoke else "I have not spoken in this debate."), r.injected


# ---------------------------------------------------------------- cross-examination


def question(shown: Shown) -> tuple[Questions, bool]:
    """Questions about what the other side has said, to whoever of it has answered least."""
    brief: QuestionBrief = shown.brief
    r = reading(shown, brief.me)
    answered = [h.body.answerer for h in r.heard]
    answerer = min(brief.answerers, key=lambda seat: (answered.count(seat), brief.answerers.index(seat)))
    return Questions(answerer=answerer, questions=tuple(_questions(r, brief))), r.injected


def _questions(r: DebaterView, brief: QuestionBrief) -> list[str]:
    """As many as are wanted, no two alike, together within the words if there is room for any."""
    share = max(1, brief.words // brief.least)
    quoted = min(WORDS_OF_A_QUOTE, max(4, (share - 12) // 2))
    before = r.team_text
    pairs = [
        (shortened(c.text, quoted), shortened(x.text, quoted))
        for c, x in clashes(r, r.opposing)
        if shortened(c.text, quoted) not in before and "?" not in c.text + x.text
    ]
    questions: list[str] = []
    for i, (claim, counter) in enumerate(pairs):
        form = QUESTIONS[(i + brief.me.position) % len(QUESTIONS)]
        questions.append(form.format(claim=claim, counter=counter))
    questions = [q for q in questions if counted(q) <= share]
    spare = [q for q in BARE_QUESTIONS if counted(q) <= share and q not in before]
    questions += spare
    while len(questions) < brief.least:
        questions.append(BARE_QUESTIONS[-1])
    return questions[: brief.least]


def respond(shown: Shown) -> tuple[Spoken, bool]:
    """Each question in turn, on what it asks about, with a quotation."""
    brief: AnswerBrief = shown.brief
    r = reading(shown, brief.me)
    reserved = counted(WHO) if brief.words >= 2 * ROOM_FOR_WHO else 0
    draft = SpeechDraft(brief.words, reserved)
    injected = r.injected or any(map(is_suspicious, brief.questions))
    used = r.team_text
    for i, question_text in enumerate(brief.questions):
        plain = without_orders(question_text)
        which = f"To your {ORDINALS[i]} question" if i < len(ORDINALS) else "To the next question"
        about = sentence(plain)
        lines = [x for x in ranked(r, about.stems) if "?" not in x.text and x not in draft.cited]
        unused = [x for x in lines if x.text not in used] or lines
        terms = _topic(plain, unused[0] if unused else None)
        on = f", on {listed(terms)}" if terms else ""
        if not (
            unused and draft.add(f"{which}{on}: “{clean(unused[0].text)}” ({source(unused[0].document)}).", unused[0])
        ):
            draft.add(f"{which}{on}: we claim nothing that our documents do not show.")
    return spoken(draft, reserved, r, shown, brief.words), injected


def _topic(question_text: str, line: DocumentLine | None) -> list[str]:
    """Words of a question, of what it quotes if it does; those first that the answer's quotation has; three of them."""
    question_text = " ".join(quotes(question_text)) or question_text
    has = frozenset() if line is None else frozenset(line.sentence.stems)
    topic_words = list(dict.fromkeys(w for w in words(question_text) if w not in STOP and len(w) > 3 and w.isalpha()))
    first = [w for w in topic_words if stem(w) in has]
    return (first + [w for w in topic_words if w not in first])[: max(2, min(3, len(first)))]
