"""A panelist without a language model: it weighs the sentences it holds and those that others quote.

It keeps its answer unless evidence that is new to it turns the balance, or says the same more exactly; that others hold
another answer does not move it.
"""

from collections.abc import Iterable, Sequence

from agents.context import Shown
from agents.extractive.evidence import Evidence, PossibleAnswer, Weighed
from agents.extractive.figures import alone, compatible, finer, stated
from agents.extractive.gathering import gather
from agents.extractive.question import read_question
from agents.extractive.weighing import beliefs, candidates, clean
from agents.retrieval.corpus import Corpus, collapse
from schemas.citation import Citation
from schemas.protocols.consensus import Change, Position
from schemas.text import same

OWN_CITED = 4
"""Sentences of its own documents that a position quotes at most."""
HEARD_CITED = 2
"""Sentences quoted by others that it quotes in turn."""
QUOTABLE = 0.25
"""What is quoted weighs at least this share of the weightiest."""
HOLD = 0.15
"""By how much another answer must outweigh the one held."""
PARTLY = 0.1
"""Loss of confidence, through new evidence, from which a position that keeps its answer has been moved in part."""


def position(shown: Shown, corpus: Corpus) -> tuple[Position, bool]:
    """(the position, whether something it read talks to the reader as to a machine)."""
    question = read_question(shown.question)
    evidence, injected = _evidence(shown, corpus)
    found = candidates(question, evidence)
    before = shown.own if isinstance(shown.own, Position) and not shown.own.abstains else None
    if not found:
        body = _abstain(shown, evidence) if before is None else _keep(before)
        return body, injected
    shares = beliefs(question, found)
    chosen = _choose(found, before, evidence)
    if chosen is None:
        assert before is not None
        return _keep(before), injected
    body = _compose(shown, found, chosen, shares, before)
    return _second_try(shown, body, before), injected


def _evidence(shown: Shown, corpus: Corpus) -> tuple[list[Evidence], bool]:
    remembered = _quotes([shown.own])
    return gather(shown, corpus, remembered | _quotes(o.body for o in shown.others), remembered)


def _quotes(bodies: Iterable[object]) -> dict[str, str]:
    """Quote -> document, of positions."""
    return {
        collapse(c.quote): c.document
        for body in bodies
        if isinstance(body, Position)
        for c in (*body.citations, *body.moved_by)
        if c.quote.strip()
    }


def _choose(
    found: Sequence[PossibleAnswer], before: Position | None, evidence: Sequence[Evidence]
) -> PossibleAnswer | None:
    """The answer that the evidence comes to; None: the seat stays with one that is not among the candidates."""
    best = found[0]
    if before is None:
        return best
    held = next((c for c in found if same(c.text, before.answer)), None)
    if held is best:
        return held
    if not any(e.new for e in evidence):
        return held
    if finer(best.text, before.answer):
        return best if _saying(best.text, _moved_by(found, best, None)) else held
    if held is None and compatible(best.text, before.answer):
        return None  # what it holds is said more exactly than what can be found
    if held is not None and best.score < held.score + HOLD:
        return held
    return best if _moved_by(found, best, held) else held


def _moved_by(found: Sequence[PossibleAnswer], now: PossibleAnswer, old: PossibleAnswer | None) -> list[Evidence]:
    """New evidence for the answer now held, or against the old one, the weightiest first."""
    against = [w for w in old.weighed if w.value < 0] if old is not None else []
    moving = sorted(
        (w for w in (*(w for w in now.weighed if w.value > 0), *against) if w.evidence.new),
        key=lambda w: (-abs(w.value), w.evidence.sentence.text),
    )
    return _unique(moving)


def _saying(answer: str, moved: Sequence[Evidence]) -> list[Evidence]:
    """Of what is new, the sentences that state a date as exactly as the answer."""
    exact = alone(answer)
    return [e for e in moved if exact and any(f.key == exact.key for f in stated(e.sentence.text))]


def _unique(weighed: Iterable[Weighed]) -> list[Evidence]:
    seen: dict[str, Evidence] = {}
    for w in weighed:
        seen.setdefault(w.evidence.sentence.text, w.evidence)
    return list(seen.values())


def _case(found: Sequence[PossibleAnswer], chosen: PossibleAnswer) -> list[Evidence]:
    """What speaks for the answer: praise of it, and blame of its rivals at a discount."""
    speaking = [(w.value, w) for w in chosen.weighed if w.value > 0]
    speaking += [(-0.8 * w.value, w) for c in found if c is not chosen for w in c.weighed if w.value < 0]
    speaking.sort(key=lambda pair: (-pair[0], not pair[1].evidence.own, pair[1].evidence.sentence.text))
    return _unique(w for value, w in speaking if value >= QUOTABLE * speaking[0][0])


def _compose(
    shown: Shown,
    found: Sequence[PossibleAnswer],
    chosen: PossibleAnswer,
    shares: dict[str, float],
    before: Position | None,
) -> Position:
    case = _case(found, chosen)
    own = [e for e in case if e.own][:OWN_CITED]
    heard = [e for e in case if not e.own][: HEARD_CITED if own else OWN_CITED]
    confidence = round(min(0.99, max(0.01, shares[chosen.text])), 3)
    change, reason, moved = _change(shown, found, chosen, confidence, before)
    return Position(
        answer=_worded(shown, chosen.text, before, change),
        reasoning=_reasoning(shown, chosen, found, shares, [*own, *heard]),
        confidence=confidence,
        citations=tuple(_cite(e) for e in (*own, *heard)),
        change=change,
        change_reason=reason,
        moved_by=tuple(_cite(e) for e in moved),
    )


def _cite(e: Evidence) -> Citation:
    return Citation(document=e.document, quote=e.sentence.text)


def _change(
    shown: Shown, found: Sequence[PossibleAnswer], chosen: PossibleAnswer, confidence: float, before: Position | None
) -> tuple[Change, str, list[Evidence]]:
    """(kept | partly | adopted, the reason, the new evidence that moved it)."""
    if before is None:
        return "kept", "", []
    if same(chosen.text, before.answer):
        rivals = [w for c in found if c is not chosen for w in c.weighed if w.value > 0 and w.evidence.new]
        doubts = _unique([*(w for w in chosen.weighed if w.value < 0 and w.evidence.new), *rivals])[:2]
        if doubts and before.confidence - confidence >= PARTLY:
            reason = (
                f"I still answer {before.answer!r}, but with {confidence:.0%} instead of {before.confidence:.0%}, "
                f"because of {_quoted(doubts[0])}."
            )
            return "partly", reason, doubts
        return "kept", "What the others quote does not turn the balance of what I hold.", []
    old = next((c for c in found if same(c.text, before.answer)), None)
    moved = _moved_by(found, chosen, old)
    if finer(chosen.text, before.answer):
        moved = _saying(chosen.text, moved)
        reason = f"{_quoted(moved[0])} says what I answered more exactly: {chosen.text!r} for {before.answer!r}."
    else:
        reason = (
            f"New to me was {_quoted(moved[0])}; with it more speaks for {chosen.text!r} than for {before.answer!r}."
        )
    adopted = any(isinstance(o.body, Position) and same(o.body.answer, chosen.text) for o in shown.others)
    return "adopted" if adopted else "partly", reason, moved[:3]


def _worded(shown: Shown, text: str, before: Position | None, change: Change) -> str:
    """The answer in the words that already stand for it, so that equal answers are equal texts."""
    if before is not None and same(before.answer, text):
        return before.answer
    if change == "adopted":
        peers = (o.body.answer for o in shown.others if isinstance(o.body, Position))
        return min(a for a in peers if same(a, text))
    return text


def _quoted(e: Evidence) -> str:
    return f"“{clean(e.sentence.text)}” ({clean(e.document)})"


def _reasoning(
    shown: Shown,
    chosen: PossibleAnswer,
    found: Sequence[PossibleAnswer],
    shares: dict[str, float],
    case: Sequence[Evidence],
) -> str:
    count = len(shown.documents)
    parts = [f"Read without a language model from {count} document{'' if count == 1 else 's'} and what others quoted."]
    if case:
        parts.append("For it: " + "; ".join(_quoted(e) for e in case[:3]) + ".")
    against = _unique(w for w in chosen.weighed if w.value < 0)
    if against:
        parts.append(f"Against it: {_quoted(against[0])}.")
    parts.append("Weight of the evidence: " + ", ".join(f"{c.text} {shares[c.text]:.0%}" for c in found[:4]) + ".")
    return " ".join(parts)


def _abstain(shown: Shown, evidence: Sequence[Evidence]) -> Position:
    if shown.documents:
        why = f"None of the {len(shown.documents)} documents that I hold says anything that answers this."
    elif evidence:
        why = "I hold no document, and what the others quote does not answer this."
    else:
        why = "I hold no document and was shown no evidence, and without documents I know nothing."
    return Position(answer="", reasoning=why, confidence=0.0, abstains=True)


def _keep(before: Position) -> Position:
    """The seat's last position once more: nothing new bears on it."""
    return Position(
        answer=before.answer,
        reasoning=before.reasoning,
        confidence=before.confidence,
        citations=before.citations,
        change_reason="Nothing that was shown to me is new to me and bears on it.",
    )


def _second_try(shown: Shown, body: Position, before: Position | None) -> Position:
    """After a refusal: without the citations that the error blames, or without any that stand in others' documents."""
    if shown.attempt <= 1 or not shown.error:
        return body
    if before is not None and "change" in shown.error.split(":")[0]:
        return _keep(before)
    own = {d.name for d in shown.documents}

    def good(c: Citation) -> bool:
        blamed = repr(c.document) in shown.error or c.document in shown.error or repr(c.quote[:200]) in shown.error
        return not blamed and (shown.attempt == 2 or c.document in own)

    cited, moved = tuple(filter(good, body.citations)), tuple(filter(good, body.moved_by))
    if (cited, moved) == (body.citations, body.moved_by):
        cited, moved = tuple(c for c in cited if c.document in own), ()
    return Position(
        answer=body.answer, reasoning=body.reasoning, confidence=body.confidence, citations=cited,
        change=body.change, change_reason=body.change_reason, moved_by=moved,
    )  # fmt: skip
