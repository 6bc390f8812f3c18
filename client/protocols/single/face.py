"""How a session of the protocol `single` is shown: as any protocol is, and never as an agreement."""

from collections.abc import Mapping
from typing import ClassVar

from client.protocols.face import Face
from client.protocols.single.setup import SETUP
from client.show.presenter import Presenter
from client.show.untrusted import items
from schemas.result import Result


class SinglePresenter(Presenter):
    """One answer."""

    certificate_names: ClassVar[Mapping[str, str]] = {
        "answers": "answers that were given", "checked": "somebody checked it",
    }  # fmt: skip
    asks: ClassVar[Mapping[str, str]] = {"answer": "Answer the question. Nobody checks your answer."}


class SingleFace(Face):
    """The face of one seat."""

    def alone(self, result: Result) -> dict[str, tuple[str, ...]]:
        """The one seat that answered."""
        answered = self.answered(result)
        seats = [str(seat) for seat in result.usage.by_seat if seat not in items(result.rounds[0].get("missing"))]
        return {seats[0]: answered} if answered and len(seats) == 1 else {}


FACE = SingleFace(setup=SETUP, presenter=SinglePresenter)
