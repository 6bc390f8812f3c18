"""Finds answers in tables: a row looked up by its name, the row with the most or the least, the greater of two rows.

The column is the one whose header the question names; where two could be meant, there is no answer.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from parley.agents.extractive.evidence import EvidenceSentence
from parley.agents.extractive.question import MOST, NUMBER, OPTIONS, WHY, YES_NO, ParsedQuestion
from parley.agents.retrieval.corpus import plain, stem, stems
from parley.agents.text.languages import DEFAULT
from parley.agents.text.words import words

CLEAR = 0.1
"""By how much the column that is meant must be nearer to the question than the next one."""
NEAR = 0.3
"""How near it must be."""
MOST_CELLS = 12
"""Cells of a row that is shown as a whole."""
_NUMBER = re.compile(r"[^\d\-−]{0,3}([\-−]?\d[\d,_ ]*(?:\.\d+)?)\s*[^\d\s]{0,12}$")

_UNIT = re.compile(r"\s*[(\[][^)\]]*[)\]]\s*$")
_ELSEWHERE = frozenset((YES_NO, WHY))
"""Kinds of questions that no cell answers."""

Near = Callable[[str], float]
"""How near a text is to the question, by the encoder."""


@dataclass(frozen=True, slots=True)
class OfTable:
    """What a table answers."""

    answer: str
    rows: tuple[EvidenceSentence, ...]
    """What it rests on."""


def column_name(header: str) -> str:
    """A column's header in words."""
    return " ".join(words(header))


def of_tables(question: ParsedQuestion, evidence: Sequence[EvidenceSentence], near: Near | None) -> OfTable | None:
    """The answer that one table gives; None where none does, or two do."""
    rows = [e for e in evidence if e.sentence.cells and e.sentence.header and e.sentence.cells[0]]
    answers = []
    for _, of_one in groupby(rows, key=lambda e: (e.document, e.sentence.table)):
        table = [e for e in of_one if len(e.sentence.cells) == len(e.sentence.header)]
        answer = _of_one(question, table, near) if table else None
        answers += [answer] if answer else []
    return answers[0] if len(answers) == 1 else None


def _of_one(question: ParsedQuestion, table: Sequence[EvidenceSentence], near: Near | None) -> OfTable | None:
    header = table[0].sentence.header
    if question.kind == OPTIONS:
        named = [[e for e in table if set(stems(o)) and _name(e) == set(stems(o))] for o in question.options]
        if not question.extreme or question.negated or any(len(n) != 1 for n in named):
            return None
        return _extreme(question, [n[0] for n in named], header, near)
    language = question.language
    asked_stems = {stem(w.removesuffix("'s"), language) for w in words(question.text)}
    names = [(e, _name(e, language)) for e in table]
    named_rows = [(e, name) for e, name in names if name and name <= asked_stems]
    if question.extreme and not named_rows:
        subject = set(stems(column_name(header[0])))
        return _extreme(question, table, header, near) if subject & asked_stems and not question.negated else None
    most = max((len(name) for _, name in named_rows), default=0)
    named_rows = [(e, name) for e, name in named_rows if len(name) == most]
    if len(named_rows) != 1 or question.kind in _ELSEWHERE or question.negated or len(header) > MOST_CELLS:
        return None
    if not _of_time(question, header):
        return None
    row = named_rows[0][0]
    cells = row.sentence.cells
    columns = [
        i for i in range(1, len(header)) if (s := _meaning(header[i], language)) and s <= asked_stems | _years(question)
    ]
    if question.kind != NUMBER and len(columns) != 1:
        return None
    if not columns and max(_scores(question, header, near), default=0.0) < NEAR:
        return None
    shown = columns if len(columns) == 1 else range(1, len(header))
    cell_texts = "; ".join(f"{plain(header[i])}: {plain(cells[i])}" for i in shown if cells[i])
    return OfTable(f"{plain(cells[0]).strip('* ')}: {cell_texts}", (row,)) if cell_texts else None


def _name(row: EvidenceSentence, language: str = DEFAULT) -> set[str]:
    return {stem(w, language) for w in words(plain(row.sentence.cells[0]))}


def _meaning(header: str, language: str = DEFAULT) -> set[str]:
    """Stems of a header, its unit in brackets aside."""
    return {stem(w, language) for w in words(_UNIT.sub("", header) or header)}


def _years(question: ParsedQuestion) -> set[str]:
    """The years that it names, also as headers shorten them."""
    years = re.findall(r"\b(?:1\d|20)\d\d\b", question.text)
    return {y for year in years for y in (year, year[2:])}


def _of_time(question: ParsedQuestion, header: Sequence[str]) -> bool:
    """Whether the times that a question names are those of a column, if it names any."""
    stated = {w for w in words(question.text) if re.fullmatch(r"(?:1\d|20)\d\ds?", w)}
    return not stated or any(stated & set(words(h)) or {y[2:] for y in stated} & set(words(h)) for h in header)


def _extreme(
    question: ParsedQuestion, rows: Sequence[EvidenceSentence], header: Sequence[str], near: Near | None
) -> OfTable | None:
    """The row with the most or the least of what is asked for; None where it is not clear."""
    at = _column(question, header, near)
    if at is None or not _of_time(question, [header[at]]):
        return None
    values = [number(e.sentence.cells[at]) for e in rows]
    known = sorted((v for v in values if v is not None), reverse=question.extreme in MOST)
    if len(known) < max(2, 0.9 * len(values)) or (question.kind == OPTIONS and len(known) < len(rows)):
        return None
    if known[0] == known[1]:
        return None
    best = rows[values.index(known[0])]
    cells = best.sentence.cells
    name = plain(cells[0]).strip("* ")
    if question.kind == OPTIONS:
        name = next(o for o in question.options if set(stems(o)) == _name(best))
    return OfTable(f"{name}: {plain(header[at])} {plain(cells[at])}", tuple(rows) if len(rows) < 4 else (best,))


def _scores(question: ParsedQuestion, header: Sequence[str], near: Near | None) -> list[float]:
    """How likely each column but the first is meant."""
    language = question.language
    asked_stems = {stem(w, language) for w in words(question.text)} | _years(question)
    scores = []
    for h in header[1:]:
        meaning = _meaning(h, language)
        named = len(meaning & asked_stems) / len(meaning) if meaning else 0.0
        scores.append(named + (near(column_name(h)) if near else 0.0))
    return scores


def _column(question: ParsedQuestion, header: Sequence[str], near: Near | None) -> int | None:
    scores = _scores(question, header, near)
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    if not order or scores[order[0]] < NEAR or (len(order) > 1 and scores[order[0]] - scores[order[1]] < CLEAR):
        return None
    return order[0] + 1


def number(cell: str) -> float | None:
    """The number that a cell is, a unit aside."""
    match = _NUMBER.match(plain(cell).strip("* `"))
    return float(re.sub(r"[,_ ]", "", match[1]).replace("−", "-")) if match else None
