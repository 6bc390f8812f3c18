"""What jurors do."""

from collections.abc import Mapping
from pathlib import Path

from parley.agents.context import Shown
from parley.agents.extractive.turn_method import TurnMethod, reads
from parley.agents.protocols import Kind, Kit
from parley.agents.retrieval.corpus import Corpus
from parley_jury.messages import Ballot, Count, Vote


def _vote(shown: Shown, _corpus: Corpus) -> tuple[Vote, bool]:
    """The first word of the first document that it holds; without one, `yes`."""
    words = shown.documents[0].text.split() if shown.documents else []
    return Vote(choice=words[0] if words else "yes", why="It stands first in what I hold."), False


def _extractive() -> Mapping[str, TurnMethod]:
    return {"vote": reads(_vote, lambda body: f"{body.choice}: {body.why}")}


KIT = Kit(
    kinds={"vote": Kind(brief=Ballot, reply=Vote, posts={"vote": Vote, "count": Count})},
    prompts=Path(__file__).parent / "prompts",
    extractive=_extractive,
)
