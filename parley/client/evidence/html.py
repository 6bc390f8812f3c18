"""A web page as text: the article without script, style, navigation and what else stands around it."""

import re
from collections import Counter
from html.parser import HTMLParser
from typing import NamedTuple

from parley.client.evidence.decoding import decoded
from parley.client.evidence.document_writer import DocumentWriter

_CHARSET = re.compile(rb"(?:<meta[^>]{0,200}?charset=|<\?xml[^>]{0,80}?encoding=)[\"']?([\w-]{1,40})", re.I)


def _tags(names: str) -> frozenset[str]:
    return frozenset(names.split())


_UNSEEN = _tags("title script style template noscript svg math nav head iframe object select button canvas dialog")
_BESIDE = frozenset(("footer", "aside"))
_AROUND = re.compile(
    r"(?:^|[\s_-])(?:nav|navbar|navigation|menu|menubar|breadcrumbs?|cookies?|cookie-?\w*|consent|newsletter|sidebar|"
    r"footer|masthead|skip-?link|share|social|advert\w*|ads?|banner|pagination|toc)(?:$|[\s_-])",
    re.I,
)
"""Classes, ids and roles of what stands around an article."""
_BLOCKS = _tags(
    "address article aside blockquote body center dd details div dl dt fieldset figcaption figure footer form header "
    "hr legend li main ol p section summary ul caption"
)
_EMPTY = _tags("area base br col embed hr img input link meta param source track wbr")
_HEADING = re.compile(r"h[1-6]$")
_LEAST_ARTICLE = 200
"""Characters of an article or a main part, from which the rest of the page is left out; or a third of the page's."""
_MOST_SPAN = 100
_LONG_CELL = 200


class _Cell(NamedTuple):
    blocks: list[tuple[str, object]]
    header: bool
    across: int
    down: int


class _Table:
    def __init__(self) -> None:
        self.rows: list[list[_Cell]] = []
        self.nested = False

    def cells(self) -> list[list[str]] | None:
        """Its cells; None: it lays a page out."""
        texts = [[[str(text) for _, text in c.blocks] for c in row] for row in self.rows]
        if self.nested or any(len(cell) > 1 or sum(map(len, cell)) > _LONG_CELL for row in texts for cell in row):
            headed = any(c.header for row in self.rows for c in row)
            if self.nested or not headed:
                return None
        if sum(len(row) > 1 for row in self.rows) < 2:
            return None
        grid: list[list[str]] = []
        from_above: dict[int, tuple[int, str]] = {}
        for row in self.rows:
            line: list[str] = []
            for cell in row:
                self._carry(from_above, line)
                text = " ".join(str(t) for _, t in cell.blocks)
                if cell.down > 1:
                    from_above[len(line)] = (cell.down - 1, text)
                line += [text, *[""] * (cell.across - 1)]
            self._carry(from_above, line)
            grid.append(line)
        return grid

    @staticmethod
    def _carry(from_above: dict[int, tuple[int, str]], line: list[str]) -> None:
        while len(line) in from_above:
            left, text = from_above.pop(len(line))
            if left > 1:
                from_above[len(line)] = (left - 1, text)
            line.append(text)


def read(data: bytes, out: DocumentWriter) -> None:
    """Write a page's text."""
    declared = _CHARSET.search(data[:2_000])
    page(decoded(data, declared[1].decode("ascii") if declared else ""), out)


def page(html: str, out: DocumentWriter) -> None:
    """Write the text of a page that is decoded."""
    blocks, seen = _blocks(html, within=True)
    size = sum(len(str(text)) for _, text in blocks)
    if size < _LEAST_ARTICLE and 3 * size <= seen:
        blocks, _ = _blocks(html, within=False)
    for kind, said in blocks:
        if kind == "table":
            out.table(said)  # type: ignore[arg-type]  # as `end_table` puts it there
        elif kind == "code":
            out.verbatim(f"```\n{said}\n```")
        elif kind == "item":
            out.item(str(said))
        elif kind:
            out.heading(str(said), int(kind))
        else:
            out.paragraph(str(said))


def _blocks(html: str, *, within: bool) -> tuple[list[tuple[str, object]], int]:
    """(kind and text of each block, characters of the whole page). `within`: only what stands in an article."""
    reader = _Reader(within)
    reader.feed(html)
    reader.close()
    return reader.finished(), reader.seen


class _Reader(HTMLParser):
    def __init__(self, within: bool) -> None:
        super().__init__(convert_charrefs=True)
        self.seen = 0
        """Characters of the page, wherever they stand."""
        self._within = within
        """Whether only what stands in an article or a main part counts."""
        self._articles = 0
        self._sinks: list[list[tuple[str, object]]] = [[]]
        self._tables: list[_Table] = []
        self._text: list[str] = []
        self._kind = ""
        self._open: list[tuple[str, bool]] = []
        """(tag, whether it and what it holds is left out) of each element that is open."""
        self._counts: Counter[str] = Counter()
        """How many of each tag are open."""
        self._hidden = 0
        self._code = 0

    def finished(self) -> list[tuple[str, object]]:
        """The blocks."""
        self._end_block()
        while self._tables:
            self._end_table()
        return self._sinks[0]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            self._text.append("\n" if self._code else " ")
        if tag in _EMPTY:
            if tag == "hr":
                self._end_block()
            return
        if tag in ("p", "li", "tr", "td", "th", "dt", "dd"):
            self._end_implied(tag)
        given = {k: v or "" for k, v in attrs}
        hidden = tag in _UNSEEN or "hidden" in given or given.get("aria-hidden") == "true"
        around = tag in _BESIDE or (tag == "header" and not self._counts["article"] and not self._counts["main"])
        if tag not in ("body", "html", "main", "article", "table", "td", "tr") and not self._tables:
            around = around or any(_AROUND.search(given.get(key, "")) for key in ("class", "id", "role"))
        hidden = hidden or around
        self._open.append((tag, hidden))
        self._counts[tag] += 1
        self._hidden += hidden
        if self._hidden:
            return
        if tag in ("article", "main"):
            self._articles += 1
        if tag == "table":
            self._end_block()
            if self._tables:
                self._tables[-1].nested = True
            self._tables.append(_Table())
        elif tag == "tr" and self._tables:
            self._tables[-1].rows.append([])
        elif tag in ("td", "th") and self._tables:
            if not self._tables[-1].rows:
                self._tables[-1].rows.append([])
            spans = [given.get(key, "1") for key in ("colspan", "rowspan")]
            across, down = (min(_MOST_SPAN, max(1, int(s))) if s.isdecimal() else 1 for s in spans)
            cell = _Cell([], tag == "th", across, down)
            self._tables[-1].rows[-1].append(cell)
            self._end_block()
            self._sinks.append(cell.blocks)
        elif _HEADING.match(tag) or tag in _BLOCKS:
            self._end_block()
            self._kind = tag[1] if _HEADING.match(tag) else "item" if tag == "li" else self._kind if tag == "p" else ""
        elif tag == "pre":
            self._end_block()
            self._code += 1
            self._kind = "code"

    def handle_endtag(self, tag: str) -> None:
        if not self._counts[tag]:
            return
        while self._open:
            name, hidden = self._open.pop()
            self._counts[name] -= 1
            if not self._hidden:
                self._ended(name)
            self._hidden -= hidden
            if name == tag:
                return

    def handle_data(self, data: str) -> None:
        self.seen += len(data.strip()) if not self._counts["script"] and not self._counts["style"] else 0
        if not self._hidden and (self._articles or not self._within):
            self._text.append(data)

    def _end_implied(self, tag: str) -> None:
        """What needs no end tag ends where its like begins."""
        ended = {"td": ("td", "th"), "th": ("td", "th"), "dt": ("dt", "dd"), "dd": ("dt", "dd")}.get(tag, (tag,))
        until = {"li": ("ul", "ol"), "dt": ("dl",), "dd": ("dl",)}.get(tag, ("table",))
        for name, _ in reversed(self._open[-40:]):
            if name in ended:
                self.handle_endtag(name)
                return
            if name in until or (tag == "p" and name not in ("a", "b", "i", "em", "strong", "span", "font")):
                return

    def _ended(self, tag: str) -> None:
        if tag in ("article", "main"):
            self._end_block()
            self._articles -= 1
        elif tag == "table" and self._tables:
            self._end_table()
        elif tag in ("td", "th") and len(self._sinks) > 1:
            self._end_block()
            self._sinks.pop()
        elif _HEADING.match(tag) or tag in _BLOCKS:
            self._end_block()
        elif tag == "pre":
            self._end_block()
            self._code -= 1

    def _end_block(self) -> None:
        text = "".join(self._text)
        self._text.clear()
        text = text.strip("\n") if self._kind == "code" else " ".join(text.split())
        if text:
            self._sinks[-1].append((self._kind, text))
            self._kind = ""
        elif self._kind != "item":
            self._kind = ""

    def _end_table(self) -> None:
        self._end_block()
        table = self._tables.pop()
        del self._sinks[len(self._tables) + 1 :]
        cells = table.cells()
        if cells is not None and any(map(any, cells)):
            self._sinks[-1].append(("table", cells))
        else:
            self._sinks[-1].extend(block for row in table.rows for cell in row for block in cell.blocks)
