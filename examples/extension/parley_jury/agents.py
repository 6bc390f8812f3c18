"""A juror that is a function."""

import parley
from parley_jury.kit import first_word
from parley_jury.rows import JUROR


@parley.agent(role=JUROR)
async def steady(turn: parley.Turn) -> parley.Reply:
    """It votes for what most others voted for; first for the first word that it reads."""
    if turn.others:
        choices = [other.body.choice for other in turn.others]
        return parley.Reply(choice=max(sorted(choices), key=choices.count), why="Most of the others say so.")
    return parley.Reply(choice=first_word(d.text for d in turn.documents), why="It stands first in what I hold.")
