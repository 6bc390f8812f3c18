"""The judge of the critic protocol without a language model: it counts and compares quotations.

    score      100 * A / (A + O): A, O what the answer's and the objection's quotations weigh together
    met        an objection that the answer takes up, quoting what it quotes, and with another quotation that weighs
               at least as much
    repeats    an objection that is near enough to one of the profile (extractive_compare.py)

A quotation weighs by how firmly it speaks and what kind of document it stands in. The order in which the two are shown
plays no part.
"""

import re
from collections.abc import Sequence

from parley.agents.context import Shown
from parley.agents.extractive.same_answer import alike as reads_the_same
from parley.agents.extractive.stance import firmness, is_negated, source_weight
from parley.agents.model.injection import is_instruction
from parley.agents.protocols.critic.extractive_answers import NEUTRAL
from parley.agents.retrieval.corpus import collapse, sentence
from parley.schemas.protocols.critic import (
    NARROWS,
    UPHOLDS,
    Answer,
    Countersignature,
    CountersignBrief,
    JudgeBrief,
    Judgement,
    Met,
    PastObjection,
    Raised,
    Rewritten,
    Signature,
    SignBrief,
    Verdict,
    VerdictBrief,
)
from parley.schemas.stops import STOPS
from parley.schemas.text import Citation

DAMPING = 0.8
"""Each further quotation counts this much of the one before."""
UNQUOTED = 0.3
"""What an objection weighs that quotes nothing."""
CONTAINED = 0.95
"""Similarity of two texts of which one has all the words of the other."""
LEAST_WORDS = 4
"""Words of meaning from which a text may be contained in another."""

_LOADED = re.compile(
    r"\b(?:surely|obviously|clearly|of course|honestly|really|simply|please|frankly|undoubtedly|certainly|"
    r"(?:as )?every(?:body|one) (?:knows|agrees)(?: that)?|we all (?:know|agree)(?: that)?|"
    r"don['’]t you think(?: that)?|"
    r"isn['’]t it (?:true|obvious|clear) that|i (?:think|believe|guess)(?: that)?)\b[,:]?\s*",
    re.I,
)
_TAKEN_UP = re.compile(r" (?=On objection \d+,)")
_QUOTED = re.compile("“([^”]+)”")


def rewrite(shown: Shown) -> Rewritten:
    """The question without words that lead to an answer, to be answered by the evidence."""
    plain = collapse(shown.question)
    bare = re.sub(r"\s+([?,.])", r"\1", _LOADED.sub("", plain)).strip(" ,:")
    bare = bare or plain
    bare = bare[0].upper() + bare[1:]
    if bare[-1] not in "?.!":
        bare += "?"
    dropped = [m.strip(" ,:") for m in _LOADED.findall(plain)]
    note = f"Left out: {', '.join(dropped)}." if dropped else "No loaded word was found."
    return Rewritten(question=NEUTRAL + bare, note=note + " Rewritten without a language model.")


def ruling(shown: Shown) -> tuple[Judgement, bool]:
    """(the ruling, whether something that was said talks to the reader as to a machine)."""
    brief: JudgeBrief = shown.brief
    answer = next((o.body for o in shown.others if isinstance(o.body, Answer)), None)
    objection = next((o.body for o in shown.others if isinstance(o.body, Raised)), None)
    if answer is None:
        return Judgement(score=0.0, comment="There is no answer to judge."), False
    meets = tuple((o.number, quote) for o in brief.profile if (quote := _meets(answer, o)))
    met = tuple(number for number, _ in meets)
    score = 100.0
    if objection is not None:
        own = [c for c in answer.citations if collapse(c.quote) not in {collapse(x.quote) for x in objection.citations}]
        for_it, against = _sum(own), _sum(objection.citations) or UNQUOTED
        score = round(100 * for_it / (for_it + against), 1)
    texts = [answer.answer, answer.reasoning, *(c.quote for c in answer.citations)]
    texts += [objection.objection] if objection is not None else []
    missing = [o.number for o in brief.profile if o.number not in met]
    comment = f"Of the profile it meets: {_numbers(met)}; left open: {_numbers(missing)}. Counted, no language model."
    quotes = tuple(Met(objection=number, quote=quote) for number, quote in meets)
    return Judgement(score=score, met=quotes, comment=comment), any(is_instruction(t) for t in texts)


def verdict(shown: Shown) -> Verdict:
    """The answer that stands, and what became of the objections to it."""
    brief: VerdictBrief = shown.brief
    answer = next((o.body for o in shown.others if isinstance(o.body, Answer)), None)
    unanswered = [o for o in brief.profile if not o.answered]
    met = [o for o in brief.profile if o.answered]
    words = STOPS[brief.reason].words
    parts = [f"The debate ended because {words}." if brief.converged else f"The debate was ended: {words}."]
    parts.append(f"Of {len(brief.profile)} objections the answer meets {len(met)}.")
    parts += [f"Left open, {o.number}: {o.text}" for o in unanswered[:5]]
    if answer is not None and answer.citations:
        first = answer.citations[0]
        parts.append(f"The answer rests above all on “{collapse(first.quote)}” ({first.document}).")
    parts.append("Written without a language model.")
    return Verdict(
        reasoning=" ".join(parts),
        ruling=NARROWS if brief.overturned_by else UPHOLDS,
        answer=answer.answer if brief.overturned_by and answer else "",
    )


def sign(shown: Shown) -> Signature:
    """Whether the verdict reads as the answer does; what differs is the whole of it."""
    brief: SignBrief = shown.brief
    if reads_the_same(brief.yours, brief.verdict):
        return Signature(states="yes")
    return Signature(states="no", differs=brief.verdict[:1_000])


def countersign(shown: Shown) -> Countersignature:
    """Open are those that the judge calls so, of which a verdict that narrows has not a word of meaning."""
    brief: CountersignBrief = shown.brief
    told = set(sentence(brief.narrowed).stems)
    still = [o for o in brief.objections if o.ruling == "open"]
    left = tuple(o.number for o in still if not told & set(sentence(quoted(o.text) or o.text).stems))
    return Countersignature(open=left, reason="Compared by words, no language model.")


def alike(one: str, other: str) -> float:
    """Likeness of two objections, 0 to 1, by the words of meaning in what they quote, or in all that they say."""
    a, b = sentence(quoted(one) or one), sentence(quoted(other) or other)
    left, right = set(a.stems), set(b.stems)
    if not left or not right:
        return 1.0 if a.words == b.words else 0.0
    shared = len(left & right)
    similarity = 2 * shared / (len(left) + len(right))
    least = min(len(left), len(right))
    if shared == least >= LEAST_WORDS:
        similarity = max(similarity, CONTAINED)
    figures = [{w for w in s.words if any(c.isdigit() for c in w)} for s in (a, b)]
    if is_negated(a) != is_negated(b) or (all(figures) and not figures[0] & figures[1]):
        similarity /= 2
    return similarity


def quoted(text: str) -> str:
    """What a text quotes, or nothing."""
    return " ".join(_QUOTED.findall(text))


def _meets(answer: Answer, o: PastObjection) -> str:
    """What the answer says to an objection that it meets; empty: it does not."""
    said = collapse(answer.reasoning)
    quotes = {collapse(c.quote) for c in o.citations}
    parts = [part.strip() for part in _TAKEN_UP.split(said)]
    how = next((part for part in parts if part.startswith(f"On objection {o.number},")), "")
    if quotes and not any(q in how for q in quotes):  # one who names no objections may quote them all the same
        how = "" if "On objection " in said else next((q for q in sorted(quotes) if q in said), "")
    if not how:
        return ""
    rest = [_weight(c) for c in answer.citations if collapse(c.quote) not in quotes]
    most = max((_weight(c) for c in o.citations), default=UNQUOTED)
    return how[:2_000].strip() if max(rest, default=0.0) >= most else ""


def _sum(citations: Sequence[Citation]) -> float:
    weights = sorted((_weight(c) for c in citations), reverse=True)
    return sum(w * DAMPING**i for i, w in enumerate(weights))


def _weight(c: Citation) -> float:
    return firmness(sentence(c.quote)) * source_weight(c.document)


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
