"""A juror that is a function."""

import parley
from parley_jury.rows import JUROR


@parley.agent(role=JUROR)
async def steady(turn: parley.Turn) -> parley.Reply:
    """It votes for what most others voted for; first for the first word that it reads."""
    if turn.others:
        choices = [other.body.choice for other in turn.others]
        return parley.Reply(choice=max(sorted(choices), key=choices.count), why="Most of the others say so.")
    words = turn.documents[0].text.split() if turn.documents else ["yes"]
    return parley.Reply(choice=words[0], why="It stands first in what I hold.")
