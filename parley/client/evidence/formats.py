"""Which reader a file gets: by how its bytes begin, else by its name's suffix; and what is in it, in one or several
texts.
"""

import email
import email.policy
import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import PurePath
from typing import NamedTuple

from parley.client.evidence import data as data_files
from parley.client.evidence import html, office, pdf, sheets
from parley.client.evidence.decoding import decoded
from parley.client.evidence.document_writer import CannotRead, DocumentWriter

MOST_UNPACKED = 100_000_000
"""Bytes that a zip or an office file may unpack to."""
MOST_MEMBERS = 5_000
MOST_RATIO = 200
"""How many times smaller a part of a zip may be packed, where it is large."""
_LARGE = 1_000_000
_EXTRA = 'needs what is not installed: pip install "parley[documents]"'
_PICTURES = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"II*\0", b"MM\0*", b"BM", b"\0\0\0\x18ftyp", b"\0\0\0 ftyp", b"RIFF",
)  # fmt: skip
_UNREAD: dict[tuple[bytes, ...], str] = {
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"{\\rtf"): (
        "is in an old format of Office, or locked: save it as .docx, .xlsx or .pptx without a password"
    ),
    _PICTURES: "is a picture, a sound or a film: only text is read; run text recognition (OCR) on a picture",
    (b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!", b"\xfd7zXZ", b"BZh"): (
        "is packed in a way that is not read: pack it as .zip"
    ),
}
"""By how a file begins: why it is left out."""
_LANGUAGES = (
    "py pyi js mjs ts tsx jsx java kt scala c h cc cpp hpp cs go rs rb php swift sh ps1 sql r lua pl css scss vue dart"
    " ex hs"
)
_CODE = frozenset(f".{suffix}" for suffix in _LANGUAGES.split())
_OPF = "{http://www.idpf.org/2007/opf}"
_OPEN = {
    "application/epub+zip": "epub",
    "application/vnd.oasis.opendocument.text": "odt",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/vnd.oasis.opendocument.presentation": "odt",
}


class FileDocument(NamedTuple):
    """One document of a file."""

    name: str
    written: DocumentWriter
    left_out: str = ""
    """Why it is not there, in words that follow its name."""


def parts(name: str, data: bytes, depth: int = 0) -> Iterator[FileDocument]:
    """The documents in a file: one, or those of a zip or a letter with attachments. `depth`: of how many files it is a
    part."""
    out = DocumentWriter()
    within: list[tuple[str, bytes | str]] = []
    try:
        within = list(_read(name, data, out, depth))
        why = "" if within or not out.empty else "holds no text"
    except CannotRead as error:
        why = str(error)
    except ImportError:
        why = _EXTRA
    if why or not out.empty:
        yield FileDocument(name, out, why)
    for member, inner in within:
        inside = f"{name}/{member}"
        if isinstance(inner, str):
            yield FileDocument(inside, DocumentWriter(), inner)
        else:
            yield from parts(inside, inner, depth + 1)


def _read(name: str, data: bytes, out: DocumentWriter, depth: int) -> Iterator[tuple[str, bytes | str]]:
    """Write the text; what comes are the files inside, or why one of them is left out."""
    kind = _kind(name, data)
    if kind == "pdf":
        pdf.read(data, out)
    elif kind == "zip":
        yield from _zip(data, out, depth)
    elif kind == "mail":
        yield from _mail(data, out, depth)
    elif kind == "html":
        html.read(data, out)
    else:
        _text(kind, decoded(data), out)


def _kind(name: str, data: bytes) -> str:
    start = data[:1_024]
    if not data.strip():
        raise CannotRead("is empty")
    if b"%PDF-" in start:
        return "pdf"
    if start.startswith(b"PK\x03\x04"):
        return "zip"
    for begins, why in _UNREAD.items():
        if start.startswith(begins):
            raise CannotRead(why)
    suffix = PurePath(name).suffix.lower()
    if suffix in (".html", ".htm", ".xhtml") or (
        not suffix and start.lstrip().lower().startswith((b"<!doctype html", b"<html"))
    ):
        return "html"
    return "mail" if suffix == ".eml" else suffix


def _text(suffix: str, text: str, out: DocumentWriter) -> None:
    if suffix in (".csv", ".tsv") or (suffix in ("", ".txt") and sheets.is_delimited(text)):
        sheets.delimited(text, out, "\t" if suffix == ".tsv" else "")
    elif suffix == ".json":
        data_files.json_text(text, out)
    elif suffix in (".jsonl", ".ndjson"):
        data_files.json_lines(text, out)
    elif suffix == ".ipynb":
        data_files.notebook(text, out)
    elif suffix in _CODE:
        out.whole(f"```\n{text.rstrip()}\n```\n")  # each of its lines is one by itself
    elif suffix in (".md", ".markdown", ".mdx", ".qmd", ".rmd", ""):
        data_files.markdown(text, out)
    else:
        out.whole(text)


# -- files in files


def unpacks_to_much(data: bytes) -> str:
    """Why a zip is not unpacked, by its directory alone; empty: it may be."""
    try:
        members = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except (zipfile.BadZipFile, EOFError, OSError, ValueError):
        return ""  # its reader says so
    size = sum(member.file_size for member in members)
    if size > MOST_UNPACKED or len(members) > MOST_MEMBERS:
        allowed = f"allowed are {MOST_UNPACKED / 1e6:.0f} MB in {MOST_MEMBERS:,}"
        return f"would unpack to {size / 1e6:,.0f} MB in {len(members):,} files, {allowed}"
    if any(m.file_size > _LARGE and m.file_size > MOST_RATIO * max(1, m.compress_size) for m in members):
        return f"has a part that is packed more than {MOST_RATIO} times smaller than it is"
    return ""


def _zip(data: bytes, out: DocumentWriter, depth: int) -> Iterator[tuple[str, bytes | str]]:
    if why := unpacks_to_much(data):
        raise CannotRead(why)
    package = office.Package(data)
    names = set(package.names)
    kind = package.bytes("mimetype").decode("latin-1").strip() if "mimetype" in names else ""
    if "word/document.xml" in names:
        office.docx(package, out)
    elif "ppt/presentation.xml" in names:
        office.pptx(package, out)
    elif "xl/workbook.xml" in names:
        sheets.xlsx(package, out)
    elif kind in _OPEN:
        {"epub": _epub, "odt": office.odt, "ods": sheets.ods}[_OPEN[kind]](package, out)
    elif depth:
        raise CannotRead("is a zip in another file: unpack it first")
    else:
        for name in package.names:
            if (
                not name.endswith("/")
                and not name.startswith("__MACOSX/")
                and not posixpath.basename(name).startswith(".")
            ):
                try:
                    yield name, package.bytes(name)
                except CannotRead as error:
                    yield name, str(error)


def _epub(package: office.Package, out: DocumentWriter) -> None:
    """Write a book's chapters in their order."""
    container = package.xml("META-INF/container.xml")
    root = None if container is None else next((n for n in container.iter() if n.tag.endswith("}rootfile")), None)
    path = "" if root is None else root.get("full-path", "")
    book = package.xml(path)
    if book is None:
        raise CannotRead("is broken: it has no list of chapters")
    items = {item.get("id"): item for item in book.iter(f"{_OPF}item")}
    for place in book.iter(f"{_OPF}itemref"):
        item = items.get(place.get("idref"))
        if item is not None and "nav" not in item.get("properties", "").split():
            part = posixpath.normpath(posixpath.join(posixpath.dirname(path), item.get("href", "")))
            if part in package.names:
                html.read(package.bytes(part), out)


def _mail(data: bytes, out: DocumentWriter, depth: int) -> Iterator[tuple[str, bytes | str]]:
    """Write a letter's head and its text once; what is attached are files of their own."""
    letter = email.message_from_bytes(data, policy=email.policy.default)
    assert isinstance(letter, EmailMessage)
    out.heading(str(letter.get("subject", "")), 1)
    for name in ("From", "To", "Cc", "Date"):
        if letter.get(name):
            out.item(f"{name}: {letter[name]}")
    try:
        body = letter.get_body(("plain", "html"))
        if body is not None and body.get_content_subtype() == "html":
            html.page(str(body.get_content()), out)
        elif body is not None:
            for paragraph in re.split(r"\n\s*\n", str(body.get_content()).replace("\r\n", "\n")):
                out.paragraph(paragraph)
        for number, attached in enumerate(letter.iter_attachments(), 1):
            content = attached.get_content()
            name = PurePath(attached.get_filename() or f"attachment {number}").name
            if depth:
                yield name, "is attached to a letter in another file: save it by itself"
            else:
                yield name, content if isinstance(content, bytes) else str(content).encode()
    except (LookupError, ValueError, AttributeError):
        raise CannotRead("is broken: its parts are not as a letter has them") from None
