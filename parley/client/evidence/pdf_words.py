"""The words of a page of a PDF, with their places, sizes and weights, and the lines that are ruled on it, by PDFium."""

import contextlib
import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

from parley.client.evidence.document_writer import CannotRead

_BLANKS = frozenset((0, 9, 10, 13, 32, 160))
_SOFT_HYPHENS = frozenset((2, 0xFFFE))
_BOLD = 600
_THIN = 2.5
"""Points: what is not wider is a line."""


class Word(NamedTuple):
    """A word; the origin is the page's lower left corner, the unit a point."""

    x0: float
    y0: float
    x1: float
    y1: float
    text: str
    size: float
    bold: bool


class Rules(NamedTuple):
    """Straight lines of a page: (at, from, to) of each."""

    level: tuple[tuple[float, float, float], ...]
    upright: tuple[tuple[float, float, float], ...]


class Pdf:
    """An open PDF. Raises CannotRead where it is none, or is locked."""

    def __init__(self, data: bytes) -> None:
        import pypdfium2

        try:
            self._pdf: Any = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            if "password" in str(error).lower():
                raise CannotRead("is locked by a password: save a copy without one") from None
            raise CannotRead("is broken: it cannot be opened as a PDF") from None
        with contextlib.suppress(pypdfium2.PdfiumError):
            self._pdf.init_forms()

    def __len__(self) -> int:
        return len(self._pdf)

    def page(self, number: int) -> tuple[list[Word], Rules] | None:
        """The words and the lines of a page; the values of a form's fields are words too. None: it is broken."""
        import pypdfium2

        try:
            page = self._pdf[number]
        except pypdfium2.PdfiumError:
            return None
        try:
            return [*_words(page), *_values(page, self._pdf.formenv)], _rules(page)
        finally:
            page.close()


def _words(page: Any) -> Iterator[Word]:
    import pypdfium2.raw as raw

    text_page = page.get_textpage()
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    box = tuple(map(ctypes.byref, (left, right, bottom, top)))
    x, y = ctypes.c_double(), ctypes.c_double()
    name, flags = ctypes.create_string_buffer(80), ctypes.c_int()
    letters: list[str] = []
    start = end = base = size = 0.0
    bold = False

    def word() -> Iterator[Word]:
        if letters:
            yield Word(start, base - 0.2 * size, end, base + 0.8 * size, "".join(letters), round(size, 1), bold)
            letters.clear()

    for i in range(raw.FPDFText_CountChars(text_page)):
        code = raw.FPDFText_GetUnicode(text_page, i)
        if code in _BLANKS:
            yield from word()
            continue
        raw.FPDFText_GetCharBox(text_page, i, *box)
        if letters and (left.value - end > 0.6 * size or left.value < start - 1):
            yield from word()
        if not letters:
            raw.FPDFText_GetCharOrigin(text_page, i, ctypes.byref(x), ctypes.byref(y))
            raw.FPDFText_GetFontInfo(text_page, i, name, 80, ctypes.byref(flags))
            start, end, base = left.value, right.value, y.value
            size = raw.FPDFText_GetFontSize(text_page, i) or top.value - bottom.value
            bold = raw.FPDFText_GetFontWeight(text_page, i) >= _BOLD or b"Bold" in name.value or b"CMBX" in name.value
        letters.append("\u00ad" if code in _SOFT_HYPHENS else chr(code))
        end = max(end, right.value)
    yield from word()
    text_page.close()


def _values(page: Any, form: Any) -> Iterator[Word]:
    """What is filled in on a page."""
    if form is None:
        return
    import pypdfium2.raw as raw

    for i in range(raw.FPDFPage_GetAnnotCount(page)):
        field = raw.FPDFPage_GetAnnot(page, i)
        if raw.FPDFAnnot_GetSubtype(field) == raw.FPDF_ANNOT_WIDGET:
            size = raw.FPDFAnnot_GetFormFieldValue(form, field, None, 0)
            buffer = ctypes.create_string_buffer(size)
            raw.FPDFAnnot_GetFormFieldValue(form, field, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
            value = buffer.raw.decode("utf-16-le", "replace").rstrip("\0").strip()
            box = raw.FS_RECTF()
            if value and value != "Off" and raw.FPDFAnnot_GetRect(field, ctypes.byref(box)):
                middle = (box.top + box.bottom) / 2
                yield Word(box.left, middle - 5, box.right, middle + 5, value, 10.0, False)
        raw.FPDFPage_CloseAnnot(field)


def _rules(page: Any) -> Rules:
    import pypdfium2.raw as raw

    level: list[tuple[float, float, float]] = []
    upright: list[tuple[float, float, float]] = []
    for i in range(min(raw.FPDFPage_CountObjects(page), 5_000)):
        thing = raw.FPDFPage_GetObject(page, i)
        if raw.FPDFPageObj_GetType(thing) != raw.FPDF_PAGEOBJ_PATH:
            continue
        matrix = raw.FS_MATRIX()
        raw.FPDFPageObj_GetMatrix(thing, ctypes.byref(matrix))
        before: tuple[float, float] | None = None
        x, y = ctypes.c_float(), ctypes.c_float()
        for n in range(min(raw.FPDFPath_CountSegments(thing), 2_000)):
            segment = raw.FPDFPath_GetPathSegment(thing, n)
            raw.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
            at = (
                matrix.a * x.value + matrix.c * y.value + matrix.e,
                matrix.b * x.value + matrix.d * y.value + matrix.f,
            )
            if before is not None and raw.FPDFPathSegment_GetType(segment) == raw.FPDF_SEGMENT_LINETO:
                (x0, x1), (y0, y1) = sorted((before[0], at[0])), sorted((before[1], at[1]))
                if y1 - y0 < _THIN and x1 - x0 > 4 * _THIN:
                    level.append(((y0 + y1) / 2, x0, x1))
                elif x1 - x0 < _THIN and y1 - y0 > 2 * _THIN:
                    upright.append(((x0 + x1) / 2, y0, y1))
            before = at
    return Rules(tuple(level), tuple(upright))
