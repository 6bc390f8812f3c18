"""What a seat without a language model says of an answer, and of having none."""

from collections.abc import Iterable

from parley.agents.context import Shown
from parley.agents.extractive.answer_search import SearchResult
from parley.agents.extractive.evidence import EvidenceSentence
from parley.agents.retrieval.corpus import clean
from parley.agents.text.languages import language_of
from parley.agents.text.words import NAMES
from parley.schemas.text import Citation

CITED = 5
"""Sentences that an answer quotes at most."""
BEARS = "No answer is sure enough. These passages bear on it"
NO_DOCUMENT = "I hold no document and was shown no evidence, and without documents I know nothing."


def quote_with_source(e: EvidenceSentence) -> str:
    """A sentence with the name of its document."""
    return f"“{clean(e.sentence.text)}” ({clean(e.document)})"


def as_citations(evidence: Iterable[EvidenceSentence]) -> tuple[Citation, ...]:
    """Sentences as citations, those of the seat's own documents first."""
    own_first = sorted(evidence, key=lambda e: not e.own)
    return tuple(Citation(document=e.document, quote=e.sentence.text) for e in own_first[:CITED])


def reasons(shown: Shown, found: SearchResult) -> str:
    """What an answer rests on."""
    count = len(shown.documents)
    beside = " and what others quoted" if shown.others else ""
    return (
        f"Read without a language model from {count} document{'' if count == 1 else 's'}{beside}. "
        f"It rests on {'; '.join(map(quote_with_source, found.rests_on[:3]))}."
    )


def why_none(shown: Shown, found: SearchResult) -> str:
    """Why there is no answer: the language, or what bears on the question."""
    if not shown.documents and not found.bearing:
        return NO_DOCUMENT
    foreign = _language(shown)
    if found.bearing:
        return f"{foreign}{BEARS}, the nearest first: {'; '.join(map(quote_with_source, found.bearing))}."
    count = "the document" if len(shown.documents) == 1 else f"the {len(shown.documents)} documents"
    return f"{foreign}I found nothing that answers this in {count} that I hold. I compare words."


def _language(shown: Shown) -> str:
    """What the language has to do with it; empty: nothing."""
    asked, held = language_of(shown.question), {language_of(d.text) for d in shown.documents}
    if asked not in NAMES:
        return f"The language is the reason: I know no words of it, only of {', '.join(NAMES.values())}. "
    if held and asked not in held:
        other = " or ".join(sorted(NAMES.get(x, "a language that I do not know") for x in held))
        return f"The language is the reason: the question is asked in {NAMES[asked]}, the documents are in {other}. "
    return ""
