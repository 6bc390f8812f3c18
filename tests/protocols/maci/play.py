"""A session of the maci protocol played by hand: admitted, asked, answered, without a bus."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import msgspec

from parley.coordinator.admission import admit
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas import log
from parley.schemas.belief import Belief, Share
from parley.schemas.presence import Announcement
from parley.schemas.protocols.maci.messages import (
    Argument,
    Blind,
    Case,
    Crit,
    Excerpt,
    Group,
    Measured,
    Merged,
    Met,
    Retrieved,
    Score,
    Span,
    Test,
    Tests,
)
from parley.schemas.session import Budget, Document, OpenSession, Seat
from parley.schemas.stops import STOPS
from parley.schemas.text import Similar
from tests.support.play import BasePlay, tried
from tests.support.tuned import apart, protocol_for

MACI = PROTOCOLS["maci"]
TEXTS = ("Platelets fall in dengue.", "Joint pain is severe in chikungunya.", "Mosquitoes bite by day.")
OUTCOMES = ("dengue", "chikungunya")


def document(name: str = "notes.md", text: str = "\n".join(TEXTS), *holders: str) -> Document:
    return Document(id=sha256(text.encode()).hexdigest(), name=name, text=text, holders=holders)


def worker(queue: str, role: str, family: str = "one", **more: Any) -> Announcement:
    return Announcement(instance=f"i-{queue}", queue=queue, roles=(role,), model="stub", family=family, **more)


def workers(debaters: int = 2, judges: Sequence[str] = ("two",), **more: Any) -> tuple[Announcement, ...]:
    """`judges`: the family of each judge's queue."""
    return (
        *(worker(f"debater_{i}", "debater", **more) for i in range(1, debaters + 1)),
        *(worker(f"judge_{i}", "judge", **{**more, "family": family}) for i, family in enumerate(judges, 1)),
        worker("analyst", "analyst", **more),
        worker("helper", "helper", **more),
    )


def belief(*shares: float, names: Sequence[str] = OUTCOMES) -> Belief:
    return tuple(Share(outcome=name, p=p) for name, p in zip(names, shares, strict=False))


def argument(claim: str, passage: int = 1, *, q: float = 0.8, reasons: Sequence[str] = ("because",)) -> Argument:
    """One that cites a passage whole; the helper of a Play finds `q` for it."""
    quote = TEXTS[passage - 1] if q == 0.8 else TEXTS[passage - 1][: 5 + round(q * 10)]
    return Argument(claim=claim, reasons=tuple(reasons), spans=(Span(passage=f"p{passage}", quote=quote),))


def quality(span: Span) -> float:
    """What the helper of a Play finds for a quotation: 0.8 for a whole passage, less for a part of one."""
    return 0.8 if any(span.quote == text for text in TEXTS) else (len(span.quote) - 5) / 10


def similar(dots: Sequence[float]) -> Similar:
    """Texts that all point the same way: Q of some is the mean of their dots."""
    n = len(dots)
    return Similar(gram=(1.0,) * (n * (n + 1) // 2), dots=tuple(dots))


def retrieved(q: float = 0.6, texts: Sequence[str] = TEXTS, name: str = "notes.md") -> Retrieved:
    found = tuple(Excerpt(document=name, text=text) for text in texts)
    return Retrieved(passages=found, similar=similar([q] * len(texts)))


def check_up(what: str = "a PCR", *positive: float, names: Sequence[str] = OUTCOMES, query: str = "pcr") -> Test:
    return Test(what=what, kind="test", query=query, positive=belief(*(positive or (0.9, 0.1)), names=names))


class Play(BasePlay):
    """Plays events one after another and keeps every log entry."""

    def __init__(
        self,
        settings: Mapping[str, Any] | None = None,
        *,
        debaters: int = 2,
        documents: Sequence[Document] | None = None,
        budget: Budget | None = None,
        seats: Sequence[Seat] = (),
        there: Sequence[Announcement] | None = None,
        seed: int = 7,
        q0: float | None = 0.6,
        **more: Any,
    ) -> None:
        """`q0`: of the task's passages; None: they are still to be retrieved."""
        tried_protocol, own = tried(MACI, settings)
        given = {"debaters": debaters, "judges": 1, "outcomes": OUTCOMES, **own}
        more.setdefault("judges", ("two",) * given["judges"])
        request = OpenSession(
            question="Dengue or chikungunya?", protocol="maci", settings=apart(given),
            documents=(document(),) if documents is None else tuple(documents), budget=budget or Budget(),
            seats=tuple(seats),
        )  # fmt: skip
        played = dataclasses.replace(protocol_for(given), attempts=tried_protocol.attempts)
        opened = admit(played, request, tuple(workers(debaters, **more) if there is None else there), seed, "client")
        super().__init__(played, opened)
        if q0 is not None:
            self.reply("helper", retrieved(q0))

    # -- events
    def blind(self, *beliefs: Belief | None, passages: Sequence[int] = (1,)) -> None:
        """Each debater's blind belief, in the order of seats; None: it fails."""
        spans = tuple(Span(passage=f"p{n}", quote=TEXTS[n - 1]) for n in passages)
        for seat, given in zip(self.debaters, beliefs, strict=True):
            if given is None:
                self.fail(seat)
            else:
                self.reply(seat, Blind(belief=given, reasoning=f"{seat} thinks so", spans=spans))

    def argue(self, *cases: Case | None) -> None:
        """A case of each debater, in the order of seats; who is not asked says nothing. Where a devil's advocate is to
        be answered and the case does not, what it says of its belief is the answer to each argument; a devil's advocate
        speaks for the first of the other outcomes."""
        given = dict(zip(self.session.inner.debaters, cases, strict=True))
        for seat in [s for s, _ in self.asked() if s in given]:
            case = given[seat]
            if case is None:
                self.fail(seat)
            else:
                brief = self.brief(seat)
                met = tuple(Met(argument=name, why=case.changed, fails=True) for name in brief["answers"])
                rivals = [name for name in brief["outcomes"] if brief["against"] not in ("", name)]
                more = {"answers": case.answers or met, "speaks_for": case.speaks_for or next(iter(rivals), "")}
                self.reply(seat, msgspec.structs.replace(case, **more))

    def measure(self, of: Callable[[Span], float] = quality) -> None:
        spans = [msgspec.convert(span, Span) for span in self.brief("helper")["spans"]]
        self.reply("helper", Measured(similar=similar([of(span) for span in spans])))

    def judge(
        self, seat: str, score: Callable[[str], float] = lambda claim: 0.8,
        against: Callable[[str], bool] = lambda claim: True,
    ) -> None:  # fmt: skip
        """Scores each argument by its claim, and says by that whether it speaks against what all hold."""
        scores = tuple(
            Score(
                item=item["item"], links=(0.9,) * len(item["reasons"]), evidence=score(item["claim"]),
                logic=score(item["claim"]), relevance=score(item["claim"]), justification="so",
                against=bool(self.brief(seat)["against"]) and against(item["claim"]),
            )
            for item in self.brief(seat)["items"]
        )  # fmt: skip
        self.reply(seat, Crit(scores=scores))

    def round(
        self, *cases: Case | None, score: Callable[[str], float] = lambda claim: 0.8,
        against: Callable[[str], bool] = lambda claim: True,
    ) -> None:  # fmt: skip
        """A whole round; every judge scores alike."""
        self.argue(*cases)
        if self.phase == "judging":
            self.measure()
            for seat in [s.seat for s in self.session.opened.seats if s.role == "judge"]:
                self.judge(seat, score, against)

    def same(self, *beliefs: Belief, passage: int = 1, score: float = 0.8) -> None:
        """A whole round in which everybody argues once, citing the same passage."""
        n = self.session.inner.round
        cases = [
            case(b, argument(f"round {n}: {seat}", passage))
            for seat, b in zip(self.debaters, beliefs, strict=True)
        ]  # fmt: skip
        self.round(*cases, score=lambda claim: score)

    def merge(self, *groups: tuple[str, Sequence[str]]) -> None:
        found = tuple(Group(name=name, members=tuple(members)) for name, members in groups)
        self.reply("analyst", Merged(groups=found))

    def plan(self, *tests: Test) -> None:
        """The plan, where the session asks one."""
        if self.phase != "done":
            self.reply("analyst", Tests(tests=tests))

    # -- looking
    @property
    def debaters(self) -> list[str]:
        return [s.seat for s in self.session.opened.seats if s.role == "debater"]

    def asks(self, kind: str) -> list[log.Ask]:
        """Everything of a kind that was ever asked."""
        return [c for e in self.entries for c in e.commands if isinstance(c, log.Ask) and c.kind == kind]

    @property
    def signals(self) -> Any:
        return self.last("signals")["signals"]


def case(given: Belief, *arguments: Argument, changed: str = "the platelets fell") -> Case:
    return Case(belief=given, arguments=arguments, changed=changed)


GATED = {"q_gate": True}
"""With the gate on evidence."""
PAPER = {"reading": "paper"}
"""The readings as they were published."""
FOR, AGAINST, AGREED = belief(0.9, 0.1), belief(0.1, 0.9), belief(0.95, 0.05)
NAMES = ("debater_1", "debater_2")


def begun(settings: dict[str, Any] | None = None, *beliefs: Any, **more: Any) -> Play:
    """A session whose blind round is over."""
    play = Play(settings, **more)
    play.blind(*(beliefs or (FOR, AGAINST)))
    return play


def exit_code(play: Play) -> int:
    """The exit status of `parley ask` after this stop."""
    row = STOPS[play.stop["reason"]]
    return row.exit_code if play.stop["converged"] or not row.converged else 3


def advocate_of(play: Play) -> str:
    """The devil's advocate of the round that runs; empty: nobody."""
    return str(play.session.inner.advocate)


def attack(play: Play, beliefs: Sequence[Belief], *arguments: Argument, **more: Any) -> None:
    """A round in which the devil's advocate alone argues."""
    who = advocate_of(play)
    play.round(
        *(case(b, *(arguments if s == who else ())) for s, b in zip(play.debaters, beliefs, strict=True)), **more
    )
