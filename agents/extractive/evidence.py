"""A sentence that may speak for an answer."""

from dataclasses import dataclass

from parley.agents.retrieval.corpus import Sentence


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
