"""A model for the seats of a competition, a MACI and a critic session, for tests: what it says follows from its turn
alone, and passes the moderator's checks at once. In a competition it quotes what its seat holds, so a speech is as long
as the turn allows."""

from collections.abc import Iterable, Mapping
from hashlib import sha256
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from parley.agents.context import Shown
from parley.agents.model.base import Completion, Emit
from parley.schemas.protocols.competition import messages as comp
from parley.schemas.protocols.competition.format import DIMENSIONS
from parley.schemas.text import Citation
from parley.schemas.turn import Usage
from tests.support import believer, objector

SHARE = 0.8
"""Of the words that a turn allows."""


class Debater:
    """Plays every seat: debaters, captains, judges, the audience, answerer, critic and analyst."""

    name = "debater"
    family = "stub"
    metered = False
    usd_per_million_input = 0.0
    usd_per_million_output = 0.0

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The reply to this turn."""
        by_protocol = {"maci": believer.said, "critic": objector.said}
        body = by_protocol.get(shown.protocol, said)(shown)
        emit(f"{shown.seat}: {shown.kind}")
        return Completion(body=body, usage=Usage(calls=1))


def said(shown: Shown) -> Any:
    """The body of a reply in a competition."""
    brief, n = shown.brief, len(shown.others)
    who = f"{shown.seat} at {n}"
    match shown.kind:
        case "confer":
            return comp.Note(text=f"{who}: {brief.stage}, note {brief.turn} of {brief.turns}.")
        case "speak" | "answer":
            return _speech(shown, brief.words)
        case "question":
            questions = tuple(f"{who} asks for reason {i}: why?" for i in range(1, max(1, brief.least) + 1))
            return comp.Questions(answerer=brief.answerers[n % len(brief.answerers)], questions=questions)
        case "captain":
            wanting = [seat for seat in brief.may if seat in brief.bids and brief.bids[seat].wants] or brief.may
            return comp.Decision(speaker=wanting[n % len(wanting)], direction=f"{who}: hold them to the figures.")
        case "bid":
            return comp.Bid(wants=_draw(who, 3) > 0, urgency=_draw(who, 10) / 10, point=f"{who} has one thing more")
        case "score":
            marks: Any = {name: 4.0 + _draw(f"{who} {name}", 5) for name in DIMENSIONS}
            return comp.Marks(**marks, comment=f"{brief.seat} was heard at {n}.")
        case "summarize":
            return comp.StageSummary(text=f"{brief.stage} is over at {n}.")
        case "review":
            return comp.FinalReview(text=f"The debate is over, and {brief.winner} leads.")
        case _:
            if brief.name == "before":
                return comp.Ballot(choice="undecided")
            return comp.Ballot(choice="con" if _draw(shown.seat, 2) else "pro", why=f"{shown.seat} has listened.")


def _speech(shown: Shown, most: int) -> comp.Spoken:
    """Its own words, a quotation, and words of what the seat holds for as long as it may speak."""
    n, held = len(shown.others), [d for d in shown.documents if d.text.strip()]
    opening = f"{shown.seat} speaks at {n}.".split()
    if not held or most < 2 * len(opening):
        return comp.Spoken(text=" ".join(opening[: max(1, most)]))
    document = held[n % len(held)]
    words = document.text.split()
    start = n * 7 % len(words)
    quote = " ".join(words[start : start + 6])
    room = max(0, int(most * SHARE) - len(opening))
    text = " ".join([*opening, *islice(cycle([*words[start:], *words[:start]]), room)])
    return comp.Spoken(text=text, citations=(Citation(document=document.name, quote=quote),))


def _draw(text: str, sides: int) -> int:
    """A number below `sides` that follows from the text."""
    return int.from_bytes(sha256(text.encode()).digest()[:4], "big") % sides


def make(options: Mapping[str, Any]) -> Debater:
    """For `model: tests.support.debater:make`."""
    return Debater()


MODEL = f"{__name__}:{make.__name__}"
SEATS = (*(f"{team}_{i}" for team in ("pro", "con") for i in range(1, 5)), "judge")
"""Of the four stages."""


CRITIC = ("answerer", "critic", "judge")
MACI = ("debater_1", "debater_2", "judge", "analyst")
"""All but the helper, which computes."""


def panel(folder: Path, model: str = MODEL, seats: Iterable[str] = SEATS, protocol: str = "competition") -> Path:
    """A panel file in which this model has every seat."""
    path = folder / ("debaters.yaml" if protocol == "competition" else f"{protocol}-seats.yaml")
    rows = "".join(f"  {seat}: {{model: {model}}}\n" for seat in seats)
    path.write_text(f"protocol: {protocol}\nseats:\n{rows}", encoding="utf-8")
    return path
