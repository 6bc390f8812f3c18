"""A session of the critic protocol played by hand: admitted, asked, answered, without a bus."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from parley.coordinator.admission import admit
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.presence import Announcement
from parley.schemas.protocols.critic import (
    NO_NEW_OBJECTION,
    Answer,
    Countersignature,
    Critique,
    Judgement,
    Met,
    Rewritten,
    Signature,
    Verdict,
)
from parley.schemas.session import Budget, Document, OpenSession, Seat
from parley.schemas.stops import STOPS
from tests.support.play import BasePlay, tried

CRITIC = PROTOCOLS["critic"]
ROLES = ("answerer", "critic", "judge")
ASKED = "Surely everybody agrees that tape is the best backup?"
HAND = Path(__file__).parent / "hand"
REWRITTEN = "Is tape the best medium for a backup?"


def workers(**more: Any) -> tuple[Announcement, ...]:
    given: dict[str, Any] = {"model": "stub", "family": "stub", **more}
    return tuple(Announcement(instance=f"i-{r}", queue=r, roles=(r,), **given) for r in ROLES)


def answer(text: str = "Tape", *meets: int, **more: Any) -> Answer:
    """An answer with a sentence against each of these objections."""
    said = "; ".join([f"because {text}", *(how(n) for n in meets)])
    return Answer(**{"answer": text, "reasoning": said, "confidence": 0.8, **more})


def how(number: int) -> str:
    """The sentence of an answer that meets an objection."""
    return f"objection {number} fails because of fact {number}"


def judgement(score: float = 50, *meets: int, **more: Any) -> Judgement:
    """A ruling that quotes what meets these objections."""
    return Judgement(score=score, met=tuple(Met(objection=n, quote=how(n)) for n in meets), **more)


class Play(BasePlay):
    """Plays events one after another and keeps every log entry."""

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        documents: Sequence[Document] = (),
        budget: Budget | None = None,
        seats: Sequence[Seat] = (),
        there: Sequence[Announcement] | None = None,
        seed: int = 7,
        rewritten: bool = True,
        question: str = ASKED,
        **more: Any,
    ) -> None:
        protocol, given = tried(CRITIC, settings)
        request = OpenSession(
            question=question, protocol="critic", settings=given, documents=tuple(documents),
            budget=budget or Budget(), seats=tuple(seats),
        )  # fmt: skip
        opened = admit(protocol, request, tuple(workers(**more) if there is None else there), seed, "client")
        super().__init__(protocol, opened)
        if rewritten:
            self.reply("judge", Rewritten(question=REWRITTEN))

    # -- events
    def answers(self, text: str = "Tape", *meets: int, **more: Any) -> log.Entry:
        return self.reply("answerer", answer(text, *meets, **more))

    def objects(self, text: str = NO_NEW_OBJECTION, **more: Any) -> log.Entry:
        return self.reply("critic", Critique(objection=text, **more))

    def judges(self, score: float = 50, *meets: int, **more: Any) -> log.Entry:
        return self.reply("judge", judgement(score, *meets, **more))

    def verdict(self, text: str = "", ruling: str = "", **more: Any) -> log.Entry:
        """By default the ruling that does not contradict the debate, on the answer that stands."""
        brief = self.brief("judge")
        allowed = "narrows" if brief.get("overturned_by") else "upholds"
        stands = "" if (ruling or allowed) == "upholds" else self.last("answer")["answer"]
        more.setdefault("reversed_by", next(iter(brief.get("overturned_by", [])), 0) if ruling == "reverses" else 0)
        given = Verdict(answer=text or stands, reasoning="it held", ruling=ruling or allowed, **more)
        return self.reply("judge", given)

    def ends(self, *still: int, **more: Any) -> log.Entry:
        """The verdict, and where the critic is asked for a last look, what it says is open."""
        entry = self.verdict()
        return self.countersigns(*still, **more) if self.phase == "countersigning" else entry

    def signs(self, states: Any = "yes", differs: str = "") -> log.Entry:
        return self.reply("answerer", Signature(states=states, differs=differs))

    def countersigns(self, *still: int, **more: Any) -> log.Entry:
        return self.reply("critic", Countersignature(**{"reason": "it is not met", "open": still, **more}))

    def round(self, objection: str, score: float = 50, *meets: int) -> None:
        """One whole round with a new objection."""
        self.answers("Tape", *meets)
        self.objects(objection)
        self.judges(score, *meets)

    @property
    def stop(self) -> Any:
        """The stop decision; where the verdict is still out, after the judge gave it, and the critic was content."""
        if self.phase == "concluding":
            self.ends()
        return super().stop

    @property
    def exit_status(self) -> int:
        """Of the command that followed the session."""
        stop = self.result.stop
        return STOPS[stop.reason].exit_status(stop.converged)


class Hand(Play):
    """A session that a strong model's stand-in played by hand (hand/README.md), played again."""

    def __init__(self, name: str) -> None:
        case = json.loads((HAND / f"{name}.json").read_text(encoding="utf-8"))
        super().__init__(question=case["question"], rewritten=False)
        for turn in case["turns"]:
            self.reply(turn["seat"], self._body(turn))
            if self.phase == "rewriting":  # what it leaves out was offered back
                self.reply(turn["seat"], self._body(turn))

    def _body(self, turn: dict[str, Any]) -> object:
        kind = self.protocol.replies[self.ask(turn["seat"]).kind]
        return msgspec.convert({**turn["recorded"], **turn["added"]}, kind)
