"""The sentences that may count for a seat: those of its documents, and what others quote."""

from collections.abc import Container, Mapping
from dataclasses import dataclass

from parley.agents.context import Shown
from parley.agents.model.injection import is_instruction, is_suspicious
from parley.agents.retrieval.corpus import Corpus, Sentence, parse_quote
from parley.agents.text.languages import language_of


@dataclass(frozen=True, slots=True)
class EvidenceSentence:
    """A sentence that may speak for an answer."""

    sentence: Sentence
    document: str
    own: bool
    """It stands in a document that this seat holds."""
    new: bool = False
    """Another quoted it, and this seat neither holds it nor quoted it in its last position."""
    heading: bool = False


def gather(
    shown: Shown, corpus: Corpus, quotes: Mapping[str, str], remembered: Container[str] = ()
) -> tuple[list[EvidenceSentence], bool]:
    """(sentences of the own documents, then what others quote and this seat does not hold, in an order that does not
    rest on theirs; whether something that was read talks to the reader as to a machine).

    Parameters
    ----------
    quotes
        Quotation, white space collapsed -> its document.
    remembered
        Those that the seat has quoted before: they are not new to it.
    """
    language = language_of(shown.question)
    texts = [(d.name, corpus.text(d, language)) for d in shown.documents]
    injected = False
    evidence = []
    for (name, text), document in zip(texts, shown.documents, strict=True):
        bad = is_suspicious(document.text)  # no sentence is where the whole is not
        injected |= bad
        evidence += [
            EvidenceSentence(s, name, own=True) for s in text.sentences if not (bad and is_instruction(s.text))
        ]
        evidence += [
            EvidenceSentence(s, name, own=True, heading=True)
            for s in text.headings
            if not (bad and is_instruction(s.text))
        ]
    for quote, of in sorted(quotes.items()):
        if any(quote in text.plain for _, text in texts):
            continue
        if is_instruction(quote):
            injected = True
        else:
            evidence.append(EvidenceSentence(parse_quote(quote, language), of, own=False, new=quote not in remembered))
    return evidence, injected
