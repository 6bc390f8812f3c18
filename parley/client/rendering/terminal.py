"""Cards in lines: for a terminal with and without colours, for Markdown, and for whoever reads text.

Everything from outside is cleaned before it is shown. A line is a style and a text (parley.client.text says what a line
is); styles are those of parley.client.show.palette.
"""

import re
from collections.abc import Iterable, Iterator

from parley.client.records import Record
from parley.client.show.answer import ResultCard
from parley.client.show.card import Card, CardPart, Table
from parley.client.show.control import feedback_words, fork_lines
from parley.client.show.open_items import item_lines
from parley.client.show.palette import seat_name
from parley.client.show.words import WIDE
from parley.client.text import clean, columns, count, line, rows
from parley.client.view.fold import Fold, fold_of
from parley.client.view.shapes import PostCard
from parley.schemas.past_sessions.feedback import feedback_of

StyledLine = tuple[str, str]
"""(style, text)"""
_WHOLE = 20_000
_BRIEF = 130
"""Characters of what is said, where one screen is wanted."""
_CODE = 400
"""Lines of a diff."""
_TONES = {"good": "stop", "warn": "warning", "quiet": "quiet"}
_PLACES = {"post": "seat", "score": "score"}
WARNING = "!"
"""Stands before what speaks against something, so that it is seen without colour."""


def opening_lines(fold: Fold, *, cut: bool = False) -> Iterator[StyledLine]:
    """The lines above a session. `cut`: a long question is cut."""
    yield "heading", f"{line(fold.protocol)}: {line(fold.question, WIDE if cut else 0)}"
    follows = f", which follows up {line(fold.continues)}" if fold.continues else ""
    yield "quiet", f"session {line(fold.sid)}{follows}"
    yield from (("quiet", text) for text in fork_lines(fold.fork))


def card_lines(
    card: PostCard, *, brief: bool = False, cut: bool = False, where: str = "", session: str = ""
) -> Iterator[StyledLine]:
    """A card in lines.

    Parameters
    ----------
    brief
        One screen is wanted: a line a card, and of an argument the beginning of its reasons.
    cut
        With `brief`: each text is cut to a row or two.
    where
        Options that name the bus, for commands that are shown.
    session
        Its id, where a question to a human is shown with the command that answers it.
    """
    if card.place == "hidden" or (brief and card.more):
        return
    most = (_BRIEF if cut else 0) if brief else _WHOLE
    style = _TONES.get(card.tone) or card.side or _PLACES.get(card.place, "quiet")
    yield style, f"  {_mark(card)}{line(_head(card, brief=brief, most=most), 2 * most)}"
    if not brief:
        yield from _whole_lines(card)
    elif card.refused:
        yield "score", f"      refused: {line(card.refused, most)}"
    if card.asks is not None and session:
        yield from item_lines(session, card.asks, card.at_ms * 1_000_000, where)
    yield from (("score", f"      {text}") for text in card.flags)


def _mark(card: Card) -> str:
    return f"{WARNING} " if card.tone == "warn" else ""


def _head(card: PostCard, *, brief: bool, most: int) -> str:
    """Who, what, what it holds, and the facts beside it; on one screen the beginning of its reasons, too. `most`:
    characters of each text; 0: all."""
    who = ", ".join(filter(None, (seat_name(card.seat) if card.seat else "", card.head)))
    sure = "" if card.confidence is None else f" ({card.confidence:.2f})"
    said = card.position or (card.text.replace("\n\n", "; ") if card.place == "line" else "")
    facts = [f"changed {card.changed.by}"] if card.changed is not None else []
    facts += [chip.text for chip in card.chips if not brief or chip.tone != "quiet"]
    if brief and card.changed is not None and card.changed.why:
        facts[0] += f": {line(card.changed.why, most)}"
    objects = card.parts if any(chip.tone == "warn" for chip in card.chips) else ()
    first = (card.text or next((part.text for part in objects), "")).partition("\n")[0]
    if brief and not said and (card.place != "score" or card.refers or len(first) < _BRIEF):
        said = first
    told = ": ".join(filter(None, (who + sure, line(said, most))))
    return f"{told} [{'; '.join(facts)}]" if facts else told


def _whole_lines(card: PostCard) -> Iterator[StyledLine]:
    """Everything that a card holds below its head."""
    if card.shares:
        shares = ", ".join(f"{line(s.name)} {s.p:.2f}" for s in card.shares)
        yield "quiet", f"      holds {shares}"
    if card.place != "line" and card.text:
        yield from (("", f"      {row}") for part in card.text.split("\n") if (row := line(part)))
    for part in card.parts:
        who = ", ".join(filter(None, (seat_name(part.who) if part.who else "", part.head)))
        facts = f" [{'; '.join(chip.text for chip in part.chips)}]" if part.chips else ""
        yield "", f"      {line(': '.join(filter(None, (who + facts, part.text))))}"
    for quote in card.quotes:
        yield "quiet", f"      {line(quote.where)}: “{line(quote.quote)}”"
    if card.changed is not None and card.changed.why:
        yield "quiet", f"      what moved it: {line(card.changed.why)}"
    if card.refused:
        yield "score", f"      refused: {line(card.refused)}"
    yield from code_lines(card.code, "      ")


def code_lines(code: str, indent: str = "  ", most: int = _CODE) -> Iterator[StyledLine]:
    """Lines as they stand, such as a diff, cut to so many."""
    told = clean(code).rstrip("\n").split("\n") if code else []
    for row in told[:most]:
        yield {"+": "stop", "-": "score"}.get(row[:1], "quiet"), f"{indent}{row}"
    if len(told) > most:
        yield (
            "quiet",
            f"{indent}and {count(len(told) - most, 'more line')} (parley sessions export --format json has all)",
        )


def answer_lines(card: ResultCard, *, cut: bool = False, where: str = "") -> Iterator[StyledLine]:
    """The card of a result; with `cut` in few words, but for the answer itself. `where`: the options that name the bus,
    behind a command."""
    rest = {
        "sure": card.sure,
        "why": card.why,
        "dissent": card.dissent,
        "weak": "; ".join(card.weak),
        "next": card.next,
    }
    sure = {"agreed": "stop", "done": "stop"}.get(card.kind, "score")
    for told in card.lines:
        label = f"{told.label} " if told.label else ""
        cited = told.quote if cut or told.quote is None else card.quote
        quote = f"“{line(cited.quote)}” ({line(cited.where)})" if cited is not None else ""
        if told.what == "answer":
            yield "answer", f"{label}{clean(card.text) if card.text else line(told.text)}"
        else:
            style = {"sure": sure, "weak": "score"}.get(told.what, "")
            text = line(told.text if cut or not told.cut else rest[told.what])
            text += where if told.what == "next" and text.startswith("parley ") else ""
            yield style, f"  {label}{' '.join(filter(None, (text, quote)))}"


def part_lines(part: CardPart) -> Iterator[StyledLine]:
    """A part behind the answer."""
    yield "heading", f"{line(part.title)}:"
    if part.table is not None:
        yield from table_lines(part.table)
    yield from (("", f"  {text[: len(text) - len(text.lstrip())]}{line(text)}") for text in part.lines)
    yield from code_lines(part.code)


def table_lines(table: Table) -> Iterator[StyledLine]:
    """A table in columns: the first to the left, figures to the right."""
    cells = [table.head, *(row.cells for row in table.rows)]
    told = [[line(cell, 40) if n else cell.rstrip()[:40] for n, cell in enumerate(row)] for row in cells]
    widths = [max(columns(clean(row[n])) for row in told if n < len(row)) for n in range(len(table.head))]
    for at, row in enumerate(told):
        style = "quiet" if not at else table.rows[at - 1].side if table.rows[at - 1].strong else ""
        first = clean(row[0])
        rest = "".join(f"  {' ' * (w - columns(cell))}{cell}" for cell, w in zip(row[1:], widths[1:], strict=False))
        yield style, f"  {first}{' ' * (widths[0] - columns(first))}{rest}".rstrip()


def bare(lines: Iterable[StyledLine]) -> Iterator[str]:
    """The texts alone, in rows."""
    return (row for _, text in lines for row in rows(text))


# ---------------------------------------------------------------- the whole


def end_lines(fold: Fold, where: str = "", *, cut: bool = False) -> Iterator[StyledLine]:
    """What a session came to, with what was used; that it is open. `where`, `cut`: as answer_lines takes them."""
    card = fold.answer()
    if card is None:
        read = len(fold.entries)
        yield (
            "",
            "still open" + (f" after {count(read, 'step')}" if read else f" after {count(len(fold.posts), 'post')}"),
        )
        return
    yield "quiet", card.used
    yield from answer_lines(card, where=where, cut=cut)
    if fold.fork is not None and fold.result is not None and fold.result.fork is not None:
        yield "quiet", fork_lines(fold.fork)[0]


def left_out_words(fold: Fold) -> str:
    """That something is missing; empty where nothing is known to be."""
    return (
        f"{count(fold.left_out, 'post')} {fold.show.left_out} are left out (--all shows them)" if fold.left_out else ""
    )


def _sections(fold: Fold, where: str = "") -> Iterator[tuple[str, list[str]]]:
    """(title, lines): the answer, what was said by rounds, and what stands behind the answer."""
    yield "Answer", [*bare(end_lines(fold, where)), *feedback_words(feedback_of(fold.posts))]
    for round_ in fold.rounds():
        if said := list(bare(told for post in round_.posts for told in card_lines(post))):
            yield line(" · ".join(filter(None, (round_.name, round_.note)))), said
    card = fold.answer()
    for part in card.parts if card is not None else ():
        title, *told = bare(part_lines(part))
        yield title.rstrip(":"), told
    if left_out := left_out_words(fold):
        yield "Left out", [left_out]


def show(source: Record | Fold, where: str = "") -> Iterator[str]:
    """The whole session in lines, as far as it may be seen. `where`: as answer_lines takes it."""
    fold = fold_of(source)
    yield from bare(opening_lines(fold))
    for title, told in _sections(fold, where):
        yield from ("", f"{title}:", *told)


def markdown(source: Record | Fold) -> Iterator[str]:
    """The same as a Markdown page; texts stand in code blocks, so that nothing in them is markup."""
    fold = fold_of(source)
    seed = f", seed {fold.opened.seed}" if fold.opened is not None else ""
    follows = f" Follows up session {line(fold.continues)}." if fold.continues else ""
    yield from (f"# Session {fold.sid}", "", f"Protocol {line(fold.protocol)}{seed}.{follows} Question:", "")
    yield from _block(rows(f"  {fold.question}"))
    for title, told in _sections(fold):
        yield from ("", f"## {title}", "")
        yield from _block(told)


def _block(lines: Iterable[str]) -> Iterator[str]:
    shown = "\n".join(lines)
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield shown
    yield fence
