"""Live runs: questions, what a session came to as a line of a file, and what methods make of these lines.

The file `sessions.jsonl` is only ever appended to, and each line is on the disk before the next session begins. A line
that a kill cut short is no line: it is taken off when the run goes on, and its session is held again. A session that
failed is held again by the next run, too: its line stays, and of several lines of one session the last counts.

One session may answer for several methods. A panel of k that stops after its blind round is k samples of the model:
its first seat alone is `single`, the vote of all is `sc<k>`. A MACI session's blind round is a vote at no extra cost.

A session counts by the answer that it gave. An answer that names no option earns nothing, though the method holds
options equally likely. A question is asked only where one option is right as a whole: one with several parts, each with
an answer of its own, is left out.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import msgspec

from parley.schemas.result import Result
from parley.schemas.stops import STOPS
from parley_research.debates.method import Budget, Method, Outcome, leading
from parley_research.debates.record import NONE, RecordedDebate
from parley_research.loaders import BadData, NoData

FILE = "sessions.jsonl"
FIRST = "panelist_1"
"""The seat of a panel that stands for a single model."""
Name = Annotated[str, msgspec.Meta(min_length=1)]


class Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a file of questions: a document, before the questions that name it."""

    document: Annotated[str, msgspec.Meta(pattern=r"^[^/\\\x00]+$")]
    """Its name: that of a file, without a folder."""
    text: str


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of a file of questions."""

    id: Name
    question: Name
    options: Annotated[tuple[Name, ...], msgspec.Meta(min_length=2)]
    gold: Name
    """One of the options."""
    documents: tuple[str, ...] = ()
    """Of the evidence: names of documents in the file itself, or of files in its folder."""
    texts: dict[str, str] = {}
    """Of those documents that stand in the file itself, by name."""
    kind: str = ""

    def debate(self) -> RecordedDebate:
        """As the harness scores it: no rounds, since a session played them."""
        return RecordedDebate(
            id=self.id,
            question=self.id,
            kind=self.kind,
            options=self.options,
            gold=self.options.index(self.gold) if self.gold in self.options else NONE,
            members=(),
            rounds=(),
        )


def sides(question: Question) -> tuple[int, int]:
    """Which of two options the team for a motion holds, and which the team against it. Drawn by the question's name, so
    that neither side holds the option that stands first, or the right one, more often."""
    first = sha256(question.id.encode()).digest()[0] % 2
    return first, 1 - first


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """One seat's blind answer."""

    seat: str
    answer: int | None
    """A place in the options; None: none of them, or it abstained."""
    confidence: float
    tokens: int = 0


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One session, as it is kept."""

    question: str
    cell: str
    """panel | consensus | critic | maci | competition | madp | dial."""
    wording: int = 0
    """Of `dial`: which position of the dial (tone_words.LEVELS)."""
    session: str = ""
    status: str = ""
    reason: str = ""
    converged: bool = False
    answer: int | None = None
    words: str = ""
    """The answer as it was given, cut."""
    confidence: float = 0.0
    mixture: tuple[float, ...] = ()
    vote: int | None = None
    """Of the blind round, where the protocol has one."""
    blind: tuple[Given, ...] = ()
    """Of the seats that answered."""
    panel: int = 0
    """Seats that were asked; 0: as many as answered."""
    rounds: int = 0
    tokens: int = 0
    calls: int = 0
    cost_usd: float = 0.0
    unpriced: bool = False
    seconds: float = 0.0
    error: str = ""
    """Why there was no session, or no result."""
    tone: float | None = None
    """Of `dial`: what debaters said, by tone_words.tone."""
    attempt: int = 1
    """How often it was tried, this time included."""

    @property
    def key(self) -> tuple[str, str, int]:
        """What is held once."""
        return self.question, self.cell, self.wording

    @property
    def failure(self) -> str:
        """Why it says nothing of its methods; empty: it does. No answer because of an error is no wrong answer."""
        if self.error:
            return self.error
        if self.status != "finished":
            return _reason(self.reason or self.status or "no result")
        heard = self.calls or self.tokens or self.blind or self.answer is not None or self.mixture
        return "" if heard else f"no model answered; it ended by {_reason(self.reason or 'an unknown reason')}"


def _reason(name: str) -> str:
    """A stop reason, and what it means."""
    return f"{name} ({STOPS[name].in_words(False)})" if name in STOPS else name


def questions(file: Path) -> list[Question]:
    """Every question of a file. Of a file of `research/parley_research/questions` those that have options, or are
    answered yes or no.

    Raises
    ------
    NoData
        There is no such file.
    BadData
        Names the line and what is wrong with it.
    """
    if not file.is_file():
        raise NoData(f"{file}: no such file")
    asked: list[Question] = []
    texts: dict[str, str] = {}
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=dict[str, Any])
            if "document" in row:
                document = msgspec.convert(row, Document)
                texts[document.document] = document.text
                continue
            given = _shipped(row) if "answerable" in row else row
            if given is None:
                continue
            one = msgspec.convert(given, Question)
            one = msgspec.structs.replace(one, texts={n: texts[n] for n in one.documents if n in texts})
        except msgspec.MsgspecError as error:
            raise BadData(f"{file.name}, line {number}: {error}") from None
        if one.gold not in one.options:
            raise BadData(f"{file.name}, line {number}: the gold {one.gold!r} is none of the options")
        if one.id in {before.id for before in asked}:
            raise BadData(f"{file.name}, line {number}: the id {one.id!r} stands in a line before")
        for name in one.documents:
            if name not in texts and not (file.parent / name).is_file():
                raise BadData(f"{file.name}, line {number}: there is no document {name} in {file.parent}")
        asked.append(one)
    if not asked:
        raise BadData(f"{file.name}: no question in it")
    return asked


def _shipped(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """A line of `research/parley_research/questions` as a question with options; None: it has none."""
    options = row["options"] or (["yes", "no"] if row["kind"] == "yesno" else [])
    golds = [alternative[0] for alternative in row["gold"] if len(alternative) == 1 and alternative[0] in options]
    if not golds:
        return None
    known = {name: row[name] for name in ("id", "question", "kind", "documents")}
    return {**known, "options": options, "gold": golds[0]}


class Kept:
    """The file of sessions: read once, then appended to."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / FILE
        self.lines: list[Row] = []
        """Every attempt, the oldest first."""
        self.cut = 0
        """Bytes of a line that a kill cut short."""
        if self._file.is_file():
            self._read()

    def _read(self) -> None:
        """Raises BadData where a whole line is no row."""
        data = self._file.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        self.cut = len(data) - len(whole)
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                self.lines.append(msgspec.json.decode(line, type=Row))
            except msgspec.MsgspecError as error:
                raise BadData(f"{self._file}, line {number}: {error}") from None
        if self.cut:
            with self._file.open("r+b") as file:
                file.truncate(len(whole))
                os.fsync(file.fileno())

    @property
    def rows(self) -> list[Row]:
        """The last attempt at each session."""
        return list({row.key: row for row in self.lines}.values())

    @property
    def keys(self) -> set[tuple[str, str, int]]:
        """What is not held again: sessions that did not fail."""
        return {row.key for row in self.rows if not row.failure}

    def attempts(self, key: tuple[str, str, int]) -> int:
        """How often a session was tried."""
        return sum(row.key == key for row in self.lines)

    def add(self, row: Row) -> None:
        """Append it; on the disk when this returns."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(row) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.lines.append(row)


def option_of(said: str, options: Sequence[str]) -> int | None:
    """Which option an answer names: it is the option, begins with it, or names no other. A list of options names none.

    Examples
    --------
    >>> option_of("Yes, since it is open.", ("yes", "no"))
    0
    >>> option_of("Yes or no", ("yes", "no")) is None
    True
    >>> option_of("It could be either, yes or no", ("yes", "no")) is None
    True
    """
    text = " ".join(said.casefold().split())
    folded = [" ".join(option.casefold().split()) for option in options]
    if text in folded:
        return folded.index(text)
    heads = [place for place, option in enumerate(folded) if re.match(rf"{re.escape(option)}(?!\w)", text)]
    named = [place for place, option in enumerate(folded) if re.search(rf"(?<!\w){re.escape(option)}(?!\w)", text)]
    one = heads if len(heads) == 1 else named
    if len(one) != 1:
        return None
    others = "|".join(re.escape(option) for place, option in enumerate(folded) if place != one[0])
    listed = rf"{re.escape(folded[one[0]])}[\W_]*(?:(?:or|and|vs)[\W_]+)?(?:{others})(?!\w)"
    return None if re.match(listed, text) else one[0]


def row_of(question: Question, cell: str, wording: int, result: Result, whys: Iterable[str] = ()) -> Row:
    """What is kept of a session's result.

    Parameters
    ----------
    whys
        Why turns came to nothing: the errors of the endpoint, for one.
    """
    outcome, usage = result.outcome, result.usage
    options = question.options
    said = str(outcome.get("label") or outcome.get("answer") or "")
    answer = option_of(said, options)
    if answer is None:
        answer = option_of(str(outcome.get("answer") or ""), options)
    won = str(outcome.get("winner") or "")
    if cell == "competition":
        answer = dict(zip(("pro", "con"), sides(question), strict=True)).get(won)
    mixture = outcome.get("mixture") or {}
    row = Row(
        question=question.id,
        cell=cell,
        wording=wording,
        session=result.session,
        status=result.status,
        reason=result.stop.reason,
        converged=result.stop.converged,
        answer=answer,
        words=str(outcome.get("answer") or won)[:200],
        confidence=float(outcome.get("confidence") or 0.0),
        mixture=tuple(float(mixture.get(option, 0.0)) for option in options) if mixture else (),
        vote=option_of(str(outcome.get("vote") or ""), options),
        blind=tuple(_blind(result, options)),
        panel=sum(seat.startswith("panelist_") for seat in usage.by_seat),
        rounds=len(result.rounds),
        tokens=usage.input_tokens + usage.output_tokens,
        calls=usage.calls,
        cost_usd=usage.cost_usd,
        unpriced=usage.unpriced is True,
        seconds=result.duration_s,
        error="" if result.status == "finished" else _failed(result),
    )
    said = "; ".join(list(dict.fromkeys(why for why in whys if why))[:2])
    return msgspec.structs.replace(row, error=f"{row.failure}: {said}"[:500]) if row.failure and said else row


def _failed(result: Result) -> str:
    """The stop reason, and which seats gave nothing in the last round."""
    missing = result.rounds[-1].get("missing", ()) if result.rounds else ()
    silent = f"; no usable reply of {', '.join(missing)}" if missing else ""
    return f"{_reason(result.stop.reason)}{silent}"


def _blind(result: Result, options: Sequence[str]) -> Iterator[Given]:
    """The positions of a consensus session's first round."""
    positions: Mapping[str, Any] = result.rounds[0].get("positions", {}) if result.rounds else {}
    for seat, position in sorted(positions.items()):
        used = result.usage.by_seat.get(seat)
        yield Given(
            seat=seat,
            answer=None if position.get("abstains") else option_of(str(position.get("answer", "")), options),
            confidence=float(position.get("confidence") or 0.0),
            tokens=0 if used is None else used.input_tokens + used.output_tokens,
        )


# ---------------------------------------------------------------- methods


UNSTATED = ("competition", "madp")
"""Cells whose sessions say an answer and not how sure they are."""


class Live(Method):
    """A method whose sessions were held already."""

    family = "live"

    def __init__(self, name: str, title: str) -> None:
        self.name, self.title = name, title
        self.has_confidence = name not in UNSTATED

    def run(self, debate: RecordedDebate, budget: Budget) -> Outcome:
        raise NotImplementedError("live methods are scored from their sessions")


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What one method said to one question, and the session that it is of."""

    method: str
    question: str
    wording: int
    outcome: Outcome
    row: Row


def answered(rows: Iterable[Row], asked: Mapping[str, Question]) -> Iterator[Answered]:
    """Every method's answer that the sessions hold. A question that is no longer asked is left out."""
    for row in rows:
        question = asked.get(row.question)
        if question is not None and row.cell != "dial":
            for method, outcome in _outcomes(row, len(question.options)):
                yield Answered(method=method, question=row.question, wording=row.wording, outcome=outcome, row=row)


def _outcomes(row: Row, options: int) -> Iterator[tuple[str, Outcome]]:
    if row.cell == "panel":
        first = next((g for g in row.blind if g.seat == FIRST), Given(seat=FIRST, answer=None, confidence=0.0))
        yield "single", _stated(first.answer, first.confidence, options, first.tokens, 1)
        given = [g.answer for g in row.blind if g.answer is not None]
        shares = tuple(given.count(p) / len(given) if given else 1 / options for p in range(options))
        tokens = sum(g.tokens for g in row.blind)
        best = leading(shares) if given else ()
        asked = row.panel or len(row.blind)
        yield f"sc{asked}", _outcome(shares, best, tokens, asked, 0)
        return
    rounds = max(0, row.rounds - 1)
    if row.mixture and abs(sum(row.mixture) - 1) < 0.01:
        whole = sum(row.mixture)
        mixture = tuple(p / whole for p in row.mixture)
        best = () if row.answer is None else (row.answer,)
        yield row.cell, _outcome(mixture, best, row.tokens, row.calls, rounds)
        return
    confidence = 1.0 if row.cell in UNSTATED else row.confidence
    yield row.cell, _stated(row.answer, confidence, options, row.tokens, row.calls, rounds)


def _stated(answer: int | None, confidence: float, options: int, tokens: int, calls: int, rounds: int = 0) -> Outcome:
    """An answer with its confidence, the rest shared among the others."""
    if answer is None:
        return _outcome((1 / options,) * options, (), tokens, calls, rounds)
    sure = min(1.0, max(0.0, confidence))
    rest = (1 - sure) / (options - 1)
    shares = tuple(sure if place == answer else rest for place in range(options))
    return _outcome(shares, (answer,), tokens, calls, rounds)


def _outcome(shares: tuple[float, ...], best: tuple[int, ...], tokens: int, calls: int, rounds: int) -> Outcome:
    return Outcome(probabilities=shares, leading=best, tokens=tokens, calls=calls, rounds=rounds)
