"""Word processing and slides: .docx, .pptx and .odt, read from the XML of which they are made."""

import io
import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree as Xml

from parley.client.evidence.document_writer import CannotRead, DocumentWriter

Node = Xml.Element
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_ALTERNATIVE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_HEADING = re.compile(r"(?:heading|überschrift|titre|título|titolo|kop)\s*(\d)", re.I)


class Package:
    """The parts of a file that is a zip of XML."""

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, EOFError, OSError, ValueError):
            raise CannotRead("is broken: it cannot be unpacked") from None
        self.names = self._zip.namelist()

    def xml(self, name: str) -> Node | None:
        """A part; None: there is none. Raises CannotRead where it is broken."""
        if name not in self.names:
            return None
        try:
            return Xml.fromstring(self.bytes(name))
        except (Xml.ParseError, RecursionError):
            raise CannotRead(f"is broken: its part {name} is no XML") from None

    def bytes(self, name: str) -> bytes:
        """A part as it is. Raises CannotRead."""
        try:
            return self._zip.read(name)
        except RuntimeError:
            raise CannotRead("is locked by a password: save a copy without one") from None
        except (KeyError, OSError, EOFError, ValueError, NotImplementedError, zipfile.BadZipFile, zipfile.zlib.error):  # type: ignore[attr-defined]
            raise CannotRead(f"is broken: its part {name} cannot be unpacked") from None

    def related(self, part: str) -> dict[str, str]:
        """The names of the parts to which a part refers, by id."""
        folder, file = posixpath.split(part)
        found = self.xml(f"{folder}/_rels/{file}.rels")
        return {
            r.get("Id", ""): posixpath.normpath(posixpath.join("/", folder, r.get("Target", ""))).lstrip("/")
            for r in (found if found is not None else ())
        }


# -- .docx


def docx(package: Package, out: DocumentWriter) -> None:
    """Write a text document; headers, footers and what was deleted are no part of it, footnotes follow it."""
    document = package.xml("word/document.xml")
    body = None if document is None else document.find(f"{_W}body")
    if body is None:
        raise CannotRead("is broken: it has no text part")
    levels = _levels(package.xml("word/styles.xml"))
    _docx_blocks(body, levels, out)
    for kind in ("footnote", "endnote"):
        notes = package.xml(f"word/{kind}s.xml")
        for note in notes if notes is not None else ():
            if note.get(f"{_W}type") is None:
                out.paragraph(" ".join(_said(p) for p in note.iter(f"{_W}p")))


def _levels(styles: Node | None) -> dict[str, int]:
    """The level of each style of headings, by its id."""
    found: dict[str, int] = {}
    for style in styles.iter(f"{_W}style") if styles is not None else ():
        id_, name = style.get(f"{_W}styleId", ""), style.find(f"{_W}name")
        called = "" if name is None else name.get(f"{_W}val", "")
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        based = style.find(f"{_W}basedOn")
        if match := _HEADING.match(called):
            found[id_] = int(match[1])
        elif called.lower() == "title":
            found[id_] = 1
        elif outline is not None and outline.get(f"{_W}val", "9").isdecimal() and int(outline.get(f"{_W}val", "9")) < 9:
            found[id_] = int(outline.get(f"{_W}val", "0")) + 1
        elif based is not None and based.get(f"{_W}val", "") in found:
            found[id_] = found[based.get(f"{_W}val", "")]
    return found


def _docx_blocks(parent: Node, levels: dict[str, int], out: DocumentWriter) -> None:
    for node in _flat(parent):
        if node.tag == f"{_W}tbl":
            out.table([[_cell(c) for c in _inside(row, f"{_W}tc")] for row in _inside(node, f"{_W}tr")])
            for nested in (t for cell in node.iter(f"{_W}tc") for t in cell.findall(f"{_W}tbl")):
                out.table([[_cell(c) for c in _inside(row, f"{_W}tc")] for row in _inside(nested, f"{_W}tr")])
            continue
        style = node.find(f"{_W}pPr/{_W}pStyle")
        name = "" if style is None else style.get(f"{_W}val", "")
        outline = node.find(f"{_W}pPr/{_W}outlineLvl")
        if name.lower().startswith("toc"):
            continue
        listed = node.find(f"{_W}pPr/{_W}numPr") is not None or name.lower().startswith("list")
        if name in levels or outline is not None:
            out.heading(_said(node), levels.get(name) or int(outline.get(f"{_W}val", "0")) + 1)  # type: ignore[union-attr]
        elif listed:
            out.item(_said(node))
        else:
            out.paragraph(_said(node))
        for box in node.iter(f"{_W}txbxContent"):
            _docx_blocks(box, levels, out)


def _flat(parent: Node) -> Iterator[Node]:
    """Paragraphs and tables, also those inside of fields."""
    for node in parent:
        if node.tag in (f"{_W}p", f"{_W}tbl"):
            yield node
        elif node.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins", f"{_W}customXml", f"{_W}smartTag"):
            yield from _flat(node)


def _inside(parent: Node, tag: str) -> Iterator[Node]:
    for node in parent:
        if node.tag == tag:
            yield node
        elif node.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins"):
            yield from _inside(node, tag)


def _cell(cell: Node) -> str:
    merged = cell.find(f"{_W}tcPr/{_W}vMerge")
    if merged is not None and merged.get(f"{_W}val") != "restart":
        return ""
    return " ".join(_said(p) for p in _inside(cell, f"{_W}p"))


def _said(paragraph: Node) -> str:
    """The text of a paragraph, without what was deleted and without its boxes."""
    return "".join(_runs(paragraph))


def _runs(parent: Node) -> Iterator[str]:
    for node in parent:
        if node.tag == f"{_W}t":
            yield node.text or ""
        elif node.tag in (f"{_W}tab", f"{_W}br", f"{_W}cr"):
            yield " "
        elif node.tag == f"{_W}noBreakHyphen":
            yield "-"
        elif node.tag not in (f"{_W}del", f"{_W}moveFrom", f"{_W}txbxContent", f"{_W}pPr", f"{_W}rPr", _ALTERNATIVE):
            yield from _runs(node)


# -- .pptx


def pptx(package: Package, out: DocumentWriter) -> None:
    """Write slides: title, text and tables of each, and the speaker's notes."""
    show = package.xml("ppt/presentation.xml")
    if show is None:
        raise CannotRead("is broken: it has no slides part")
    parts = package.related("ppt/presentation.xml")
    for number, slide in enumerate(show.iter(f"{_P}sldId"), 1):
        part = parts.get(slide.get(f"{_R}id", ""), "")
        content = package.xml(part)
        if content is None or content.get("show") == "0":
            continue
        out.place(f"slide {number}")
        shapes = [n for n in content.iter() if n.tag in (f"{_P}sp", f"{_P}graphicFrame")]
        titles = [s for s in shapes if _is_title(s)]
        for shape in [*titles, *(s for s in shapes if s not in titles)]:
            _shape(shape, shape in titles, out)
        for other in package.related(part).values():
            notes = package.xml(other) if "/notesSlide" in other else None
            for shape in notes.iter(f"{_P}sp") if notes is not None else ():
                kind = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
                if kind is not None and kind.get("type") == "body":
                    _shape(shape, False, out)


def _is_title(shape: Node) -> bool:
    kind = shape.find(f"{_P}nvSpPr/{_P}nvPr/{_P}ph")
    return kind is not None and kind.get("type") in ("title", "ctrTitle")


def _shape(shape: Node, title: bool, out: DocumentWriter) -> None:
    for table in shape.iter(f"{_A}tbl"):
        out.table([[_drawn(cell) for cell in row.findall(f"{_A}tc")] for row in table.findall(f"{_A}tr")])
    body = shape.find(f"{_P}txBody")
    if title:
        out.heading("" if body is None else _drawn(body), 2)
    elif body is not None:
        for paragraph in body.findall(f"{_A}p"):
            out.paragraph(_letters(paragraph))


def _drawn(parent: Node) -> str:
    return " ".join(_letters(p) for p in parent.iter(f"{_A}p"))


def _letters(paragraph: Node) -> str:
    return "".join(
        " " if node.tag == f"{_A}br" else node.text or ""
        for node in paragraph.iter()
        if node.tag in (f"{_A}t", f"{_A}br")
    )


# -- .odt


def odt(package: Package, out: DocumentWriter) -> None:
    """Write an OpenDocument text or its slides."""
    content = package.xml("content.xml")
    if content is None:
        raise CannotRead("is broken: it has no text part")
    _open_blocks(content, out)


def _open_blocks(parent: Node, out: DocumentWriter, item: bool = False) -> None:
    for node in parent:
        if node.tag == f"{_TEXT}h":
            out.heading(_open_text(node), int(node.get(f"{_TEXT}outline-level", "1") or 1))
        elif node.tag == f"{_TEXT}p":
            (out.item if item else out.paragraph)(_open_text(node))
        elif node.tag == f"{_TABLE}table":
            out.table(open_grid(node))
        elif node.tag not in (f"{_TEXT}tracked-changes", f"{_TEXT}table-of-content"):
            _open_blocks(node, out, item or node.tag == f"{_TEXT}list-item")


def open_grid(table: Node) -> list[list[str]]:
    """The cells of an OpenDocument table."""
    grid: list[list[str]] = []
    for row in table.iter(f"{_TABLE}table-row"):
        cells: list[str] = []
        for cell in row.findall(f"{_TABLE}table-cell"):
            text = " ".join(_open_text(p) for p in cell.iter(f"{_TEXT}p"))
            again = int(cell.get(f"{_TABLE}number-columns-repeated", "1"))
            cells += [text] * (min(again, 200) if text else min(again, 20))
        while cells and not cells[-1]:
            cells.pop()
        grid.append(cells)
    return grid


def _open_text(node: Node) -> str:
    return "".join(_open_runs(node))


def _open_runs(node: Node) -> Iterable[str]:
    if node.tag in (f"{_TEXT}s", f"{_TEXT}tab", f"{_TEXT}line-break"):
        yield " "
    yield node.text or ""
    for child in node:
        if not child.tag.endswith("}annotation"):
            yield from _open_runs(child)
        yield child.tail or ""
