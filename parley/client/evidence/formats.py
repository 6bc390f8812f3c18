"""The text in a file's bytes: plain text, a web page, a table or a PDF."""

import logging
import re
import sys
from io import BytesIO
from pathlib import PurePath

from parley.client.errors import BadInput
from parley.client.evidence.page import text_of
from parley.client.evidence.table import records
from parley.schemas.session import MAX_DOCUMENT

FIELD = "evidence"
MOST_TEXT = 4 * MAX_DOCUMENT
"""Bytes that so many characters may take in UTF-8."""
MOST_PDF = 40_000_000
"""Bytes of a PDF, most of which are pictures and fonts."""
MOST_PAGES = 2_000
_PAGES = frozenset({".html", ".htm", ".xhtml"})
_TABLES = frozenset({".csv", ".tsv"})
_SPLIT_WORD = re.compile(r"(?<=[^\W\d_A-Z])(?:-|\u00ad)\n(?=[^\W\d_A-Z])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]")
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]{1,40})", re.I)


def most_bytes(name: str) -> int:
    """How many bytes a file of this name may have."""
    return MOST_PDF if _kind(name) == ".pdf" else MOST_TEXT


def in_text(name: str, data: bytes) -> str:
    """What stands in a file, by its name's suffix, and without one (standard input) by how it begins.

    Raises
    ------
    BadInput
        It is no such file, or holds too much, or what reads it is not installed. Names the file and the limit.
    """
    kind = _kind(name) or _begins(data)
    if kind == ".pdf":
        text = _pdf(name, data)
    elif kind in _PAGES:
        text = text_of(_decoded(name, data, _charset(data)))
    elif kind in _TABLES:
        text = records(name, _decoded(name, data), "\t" if kind == ".tsv" else None)
    else:
        text = _decoded(name, data)
    if len(text) > MAX_DOCUMENT:
        raise BadInput(FIELD, f"{name} has {len(text):,} characters, allowed are {MAX_DOCUMENT:,}")
    return text


def _kind(name: str) -> str:
    return PurePath(name).suffix.lower()


def _begins(data: bytes) -> str:
    start = data[:200].lstrip().lower()
    if start.startswith(b"%pdf-"):
        return ".pdf"
    return ".html" if start.startswith((b"<!doctype html", b"<html")) else ""


def _charset(data: bytes) -> str:
    match = _CHARSET.search(data[:2_000])
    return match[1].decode("ascii") if match else "utf-8-sig"


def _decoded(name: str, data: bytes, encoding: str = "utf-8-sig") -> str:
    if b"\0" in data:
        raise BadInput(FIELD, f"{name} is binary (it holds a NUL byte); only text is read")
    try:
        return data.decode("utf-8-sig" if encoding.lower() in ("utf-8", "utf8") else encoding)
    except UnicodeDecodeError as error:
        raise BadInput(FIELD, f"{name} is not {_called(encoding)} text (byte {error.start})") from error
    except (LookupError, UnicodeError):
        raise BadInput(FIELD, f"{name} says it is {encoding}, which is no encoding of text") from None


def _called(encoding: str) -> str:
    return "UTF-8" if encoding == "utf-8-sig" else encoding


def _pdf(name: str, data: bytes) -> str:
    try:
        import pypdf
    except ImportError:
        how = f"{sys.executable} -m pip install pypdf (the extra parley[pdf])"
        raise BadInput(FIELD, f"{name} is a PDF, and what reads one is not installed: {how}") from None
    logging.getLogger("pypdf").setLevel(
        logging.CRITICAL
    )  # it tells of every oddity of a file that it reads all the same
    pages: list[str] = []
    size = 0
    try:
        reader = pypdf.PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise BadInput(FIELD, f"{name} is locked with a password")
        if len(reader.pages) > MOST_PAGES:
            raise BadInput(FIELD, f"{name} has {len(reader.pages):,} pages, allowed are {MOST_PAGES:,}")
        for page in reader.pages:
            pages.append(page.extract_text())
            size += len(pages[-1])
            if size > MAX_DOCUMENT:
                where = f"on page {len(pages)} of {len(reader.pages)}"
                raise BadInput(FIELD, f"{name} has more than {MAX_DOCUMENT:,} characters, which is the limit ({where})")
    except BadInput:
        raise
    except Exception as error:  # whatever a broken file makes of a reader of PDF
        raise BadInput(FIELD, f"{name} cannot be read as a PDF: {str(error) or type(error).__name__}") from error
    text = _CONTROL.sub("", _SPLIT_WORD.sub("", "\n\n".join(pages)))
    if not text.strip():
        raise BadInput(FIELD, f"{name} holds no text, only pictures of it; run text recognition (OCR) on it first")
    return text
