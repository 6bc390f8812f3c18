"""The text of a web page: headings, paragraphs, list items and tables, without scripts, styles and menus."""

from html.parser import HTMLParser

from parley.client.evidence.table import items

_PASSED_OVER = frozenset(
    {"script", "style", "template", "noscript", "svg", "nav", "head", "iframe", "object", "select"}
)
_BLOCKS = frozenset(
    {
        "address", "article", "aside", "blockquote", "dd", "div", "dl", "dt", "fieldset", "figcaption", "figure",
        "footer", "form", "header", "hr", "main", "ol", "p", "pre", "section", "ul", "caption", "details", "summary",
    }
)  # fmt: skip
_HEADINGS = {f"h{n}": "#" * n for n in range(1, 7)}


def text_of(html: str) -> str:
    """The page's text as Markdown."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    reader.end_block()
    return "\n\n".join(reader.blocks) + "\n" if reader.blocks else ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[str] = []
        self._text: list[str] = []
        self._mark = ""
        self._passed_over: list[str] = []
        self._tables: list[list[list[str]]] = []
        """Rows of the tables that are open, the innermost last."""
        self._headed: list[bool] = []

    def end_block(self) -> None:
        text = " ".join("".join(self._text).split())
        self._text = []
        if text:
            self.blocks.append(f"{self._mark} {text}".strip())
        self._mark = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "body":
            self._passed_over.clear()
        if tag in _PASSED_OVER or self._passed_over:
            if tag in _PASSED_OVER:
                self._passed_over.append(tag)
        elif tag == "table":
            self.end_block()
            self._tables.append([])
            self._headed.append(False)
        elif tag == "tr" and self._tables:
            self._end_cell()
            self._tables[-1].append([])
        elif tag in ("td", "th") and self._tables:
            self._end_cell()
            if not self._tables[-1]:
                self._tables[-1].append([])
            self._headed[-1] |= tag == "th" and len(self._tables[-1]) == 1
            self._tables[-1][-1].append("")
        elif tag in _HEADINGS or tag in ("li", "body") or tag in _BLOCKS:
            self._separate()
            self._mark = _HEADINGS.get(tag, "-" if tag == "li" else "") if not self._tables else ""
        elif tag == "br":
            self._text.append(" ")

    def handle_endtag(self, tag: str) -> None:
        if self._passed_over:
            if tag in self._passed_over or tag == "body":
                del self._passed_over[self._passed_over.index(tag) if tag in self._passed_over else 0 :]
        elif tag == "table" and self._tables:
            self._end_cell()
            self._end_table(self._tables.pop(), self._headed.pop())
        elif tag in ("td", "th", "tr") and self._tables:
            self._end_cell()
        elif tag in _HEADINGS or tag == "li" or tag in _BLOCKS:
            self._separate()

    def handle_data(self, data: str) -> None:
        if not self._passed_over:
            self._text.append(data)

    def _separate(self) -> None:
        if self._tables:
            self._text.append(" ")
        else:
            self.end_block()

    def _end_cell(self) -> None:
        text = " ".join("".join(self._text).split())
        self._text = []
        rows = self._tables[-1]
        if text and rows and rows[-1]:
            rows[-1][-1] = f"{rows[-1][-1]} {text}".strip()

    def _end_table(self, rows: list[list[str]], headed: bool) -> None:
        rows = [row for row in rows if any(row)]
        if headed and len(rows) > 1:
            lines = list(items(rows[0], rows[1:]))
        else:  # most such tables lay a page out
            lines = [" ".join(filter(None, row)) for row in rows]
        if self._tables:
            self._text.append(" ".join(lines))
        elif lines:
            self.blocks.append("\n".join(lines))
