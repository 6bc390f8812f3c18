"""The debater's model, with a mark in everything that it says where only its team, or the judge, may read."""

from collections.abc import Mapping
from typing import Any

import msgspec

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.schemas.protocols.competition.messages import Bid, Decision, Marks, Note
from tests.support.debater import Debater

MARK = "xyzzy"


class Marked(Debater):
    """Notes, bids, directions and the judge's comments begin with the mark and the seat's name."""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The debater's reply, marked."""
        found = await super().reply(shown, emit)
        replace, mark = msgspec.structs.replace, f"{MARK} {shown.seat} "
        match found.body:
            case Note(text=text):
                body: Any = replace(found.body, text=mark + text)
            case Decision(direction=text):
                body = replace(found.body, direction=mark + text)
            case Bid(point=text):
                body = replace(found.body, point=mark + text)
            case Marks(comment=text):
                body = replace(found.body, comment=mark + text)
            case _:
                return found
        return replace(found, body=body)


def make(options: Mapping[str, Any]) -> Marked:
    """For `model: tests.parley.marked_model:make`."""
    return Marked()
