"""What jurors do."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from parley.agents.context import Shown
from parley.agents.extractive.turn_method import TurnMethod, reads
from parley.agents.protocols import Kind, Kit
from parley.agents.retrieval.corpus import Corpus
from parley_jury.messages import Ballot, Count, Vote


def first_word(texts: Iterable[str]) -> str:
    """The first word of these texts; `yes` where they have none. Marks such as a heading's `#` are no words."""
    return next((found[0] for text in texts if (found := re.search(r"\w+", text))), "yes")


def _vote(shown: Shown, _corpus: Corpus) -> tuple[Vote, bool]:
    return Vote(choice=first_word(d.text for d in shown.documents), why="It stands first in what I hold."), False


def _extractive() -> Mapping[str, TurnMethod]:
    return {"vote": reads(_vote, lambda body: f"{body.choice}: {body.why}")}


KIT = Kit(
    kinds={"vote": Kind(brief=Ballot, reply=Vote, posts={"vote": Vote, "count": Count})},
    prompts=Path(__file__).parent / "prompts",
    extractive=_extractive,
)
