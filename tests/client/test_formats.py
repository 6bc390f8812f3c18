"""Files of every kind as text, real ones: what stands in them as one sentence or row, and what is told of others."""

import io
import subprocess
import sys
import zipfile
import zlib
from itertools import starmap
from pathlib import Path

import msgspec
import pytest

from parley.agents.retrieval.corpus import cut
from parley.agents.retrieval.passages import passages
from parley.client.evidence import SentFile, read, telling
from parley.client.evidence.reading import Asked, receive, send
from parley.client.evidence.reading import Document as ReadDocument
from parley.schemas.session import Document

ROOT = Path(__file__).parents[2]
with zipfile.ZipFile(Path(__file__).with_name("documents.zip")) as archive:
    FILES = {name: archive.read(name) for name in archive.namelist()}

UNITS = {
    "p01_headings.pdf": (
        "Dogs must be kept on a lead of no more than two metres between 1 April and 15 September.", "Dogs",
    ),
    "p02_table.pdf": (
        "Model: HB-35; Output (kW): 35; Pressure (bar): 1.8; Weight (kg): 128",
        "Code: E21; Cause: Water pressure below 0.8 bar; Remedy: Refill to 1.5 bar and bleed the radiators",
    ),
    "p04_twocol.pdf": ("The committee met in the town hall and heard the report of the working group.", "Results"),
    "p05_form.pdf": ("Surname: Okonkwo", "Licence plate: KR-AB 1234"),
    "p07_mixed.pdf": ("The first page has text: the deposit is 250 euros.",),
    "p12_sidebar.pdf": ("It owns thirty-one boats, nine of which are reserved for beginners.", "Founded: 1911"),
    "d01_minutes.docx": (
        "The meeting decided by 41 votes to 6 to replace the lift in building C before the end of 2026.",
        "The rent of the guest flat rises to 55 euros per night.", "Building: B; Votes: 21; Proxy: 5", "Attendance",
    ),
    "d02_tracked_footnote.docx": (
        "The notice period is six weeks to the end of a quarter.", "For customers in Norway the fee is due quarterly."
    ),
    "s01_slides.pptx": ("Phase one starts in Turin on 4 May.", "Site: Basel; Capex: 275; Opex: 61"),
    "x02_formulas_cached.xlsx": (
        "Region: South; Quarter: Q1; Units: 90; Price: 3.1; Revenue: 279", "Building: School; 2023: 140; 2024: 131",
        "Name: Tom Baker; Start: 2019-11-15; Role: Planner",
    ),
    "h01_page.html": (
        "Keller Heating gives a warranty of five years on the heat exchanger, counted from the date of the invoice.",
        "Zone: Alps; Days: 9; Price: 45 EUR",
    ),
    "h02_nomain.html": ("The last ferry to Hven leaves at 21:40 on Sundays.", "Bicycles travel free."),
    "h04_layout_table.html": ("The museum is closed on Tuesdays.", "Ticket: Child; Price: 6"),
    "q14_xxe.html": ("before &a; after",),
    "e01_book.epub": ("Three men reached the shore, but the fourth was never found.", "The boat"),
    "n01_notebook.ipynb": ("The accuracy on the held-out set is 0.871.", "site A 3.2 site B 4.8"),
    "m01_mail.eml": ("the opening of the bridge moves to 22 November, because the steel arrives late.",),
    "m01_mail.eml/gas.csv": ('building: B; year: 2025; gas_kwh: 74920; note: said "late"',),
    "o02_text.odt": ("Quiet hours last from 10 p.m. to 6 a.m. on all days.", "Floor: 2; Keys: 7"),
    "o03_sheet.ods": ("Floor: 2; Keys: 7",),
    "c02_semicolon_bom.csv": ("Stadt: Aachen; Einwohner: 252.769; Bürgermeister: S. Keupen",),
    "c03_latin1.csv": ("Ort: Köln; Höhe: 37",),
    "j01_config.json": ("service.timeout_s: 45", "id: R7; text: Invoices above 5,000 euros need two signatures."),
    "z01_mixed.zip/p03_borderless.pdf": ("Office: Porto; Head: Mr. Neves; Staff: 17; Since: 2019",),
    "z01_mixed.zip/t06_wrapped.txt": ("It names the place, the hour and the items on which a vote is taken.",),
}  # fmt: skip
NOT = (
    "99 years", "Subscribe", "You may also like", "Cart", "cookies", "Home", "three months to", "Hidden", "secret",
    "CONFIDENTIAL DRAFT Page", "QSxCLDIw", "Content-Type", "cells",
)  # fmt: skip
"""What stands around the text, was deleted, is hidden, or is how a file is made."""
TEXTS = {
    "t04_sjis.txt": "図書館は月曜日に休館します。本の貸出期間は二週間です。延長は一回だけ可能です。\n",
    "t05_cp1251.txt": "Библиотека закрыта по понедельникам. Срок выдачи книги составляет две недели.\n",
    "t07_gb18030.txt": "图书馆星期一闭馆。借书期限为两周。续借只能一次。\n",
}
LEFT_OUT = (
    "p06_scan.pdf is a scan: its pages are pictures without text; run text recognition (OCR) on it first",
    "p07_mixed.pdf page 2 has no text (a picture of it needs OCR)",
    "p08_locked.pdf is locked by a password: save a copy without one",
    "q02_truncated.docx is broken: it cannot be unpacked",
    "q03_random.pdf is broken: it cannot be opened as a PDF",
    "q07_old_ole.doc is in an old format of Office, or locked: save it as .docx, .xlsx or .pptx without a password",
    "o01_text.rtf is in an old format of Office, or locked: save it as .docx, .xlsx or .pptx without a password",
    "q16_loop_pages.pdf is ",
    "x01_formulas_uncached.xlsx has 3 formulas without a stored value: open and save it in a spreadsheet program",
)


@pytest.fixture(scope="module")
def all_files() -> dict[str, Document]:
    found = read(list(starmap(SentFile, FILES.items())))
    for why in LEFT_OUT:
        assert any(line.startswith(why) for line in found.left_out), why
    assert len(found.left_out) == len(LEFT_OUT), found.left_out
    return {d.name: d for d in found.documents}


def test_what_answers_a_question_stands_as_one_sentence_or_one_row(all_files: dict[str, Document]) -> None:
    for name, units in UNITS.items():
        text = cut(all_files[name].text)
        said = {s.text for s in (*text.sentences, *text.headings)}
        assert not set(units) - said, name
    for name, document in all_files.items():
        assert not [word for word in NOT if word in document.text], name
    assert {name: all_files[name].text for name in TEXTS} == TEXTS


def test_pages_slides_and_sheets_are_offsets_into_the_text(all_files: dict[str, Document]) -> None:
    def at(name: str) -> list[tuple[str, str]]:
        document = all_files[name]
        return [(place.name, document.text[place.at :].split("\n")[0]) for place in document.places]  # type: ignore[union-attr]

    assert at("s01_slides.pptx") == [("slide 1", "## Rollout plan"), ("slide 2", "## Costs")]
    assert at("x02_formulas_cached.xlsx")[1] == ("sheet Staff", "## Staff")
    assert [name for name, _ in at("p01_headings.pdf")] == ["page 1", "page 2"]


def table(rows: str) -> str:
    return read(SentFile("a.csv", rows.encode())).documents[0].text


def test_tables_in_text() -> None:
    canals = (
        "- Canal: Suez; Opened: 1869; Length: 193\n- Canal: Panama; Opened: 1914\n"
        "- Canal: Kiel, the; Opened: 1895; Length: 98; column 4: extra\n"
    )
    comma = 'Canal,Opened,Length\nSuez,1869,193\n\nPanama,1914,\n"Kiel, the",1895,98,extra\n'
    assert table(comma) == canals
    assert table(comma.replace('"Kiel, the"', "Kiel@ the").replace(",", ";").replace("@", ",")) == canals
    assert table("one, two\n") == "one, two\n", "a table of one line stays as it is"
    markdown = "# A\n\n| a | b |\n|---|---|\n| 1 | x\\|y |\n| 2 | z |\n\nAfter.\n"
    (document,) = read(SentFile("a.md", markdown.encode())).documents
    assert document.text == "# A\n\n- a: 1; b: x|y\n- a: 2; b: z\n\nAfter.\n"
    pieces, _ = passages(read(SentFile("r.csv", ("S,Rain\n" + "st,7 mm\n" * 300).encode())).documents[0])
    assert len(pieces) > 5 and all(p.text.count("S: ") == p.text.count("Rain: ") > 0 for p in pieces)


def test_a_web_page_without_end_tags_and_with_an_encoding_of_its_own() -> None:
    page = (
        '<meta charset="iso-8859-1"><title>t</title><body><h2>The  canal</h2><p>Caf\u00e9 <br>of <b>1869</b> &amp; on.'
        "<p>Ships pay.<ul><li>one<li>two <i>three</i></ul><table><tr><th>Year<th>Ships<tr>"
        "<td rowspan=2>1870<td><p>486</p><tr><td>9</table><pre>a  b\n c</pre>"
    )
    (document,) = read(SentFile("page.htm", page.encode("latin-1"))).documents
    assert document.text == (
        "## The canal\n\nCaf\u00e9 of 1869 & on.\n\nShips pay.\n\n- one\n- two three\n\n"
        "- Year: 1870; Ships: 486\n- Year: 1870; Ships: 9\n\n```\na  b\n c\n```\n"
    )


WITHOUT = """
import sys; sys.modules["pypdfium2"] = None
from parley.client.evidence import reading; reading.main()
"""


def test_without_the_extra_the_line_says_how_to_install_it() -> None:
    asked = subprocess.Popen([sys.executable, "-c", WITHOUT], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with asked:
        assert asked.stdin is not None and asked.stdout is not None
        told = {}
        for name in ("p01_headings.pdf", "d01_minutes.docx", "h01_page.html", "c03_latin1.csv"):
            send(asked.stdin, Asked(name, FILES[name]))
            answer = msgspec.msgpack.decode(receive(asked.stdout), type=list[ReadDocument])
            told[name] = [document.left_out for document in answer]
        asked.stdin.close()
    assert list(told.values()) == [['needs what is not installed: pip install "parley[documents]"']] + [[""]] * 3


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (b"plain <b>\n", "plain <b>\n"), (b" <!DOCTYPE html><p>page", "page\n"), (b"a;b\n1;2\n3;4\n", "- a: 1; b: 2\n"),
        (FILES["p05_form.pdf"], "Surname: Okonkwo"),
    ],
)  # fmt: skip
def test_standard_input_is_read_by_how_it_begins(given: bytes, wanted: str) -> None:
    program = "from parley.client.evidence import read; (d,) = read('-').documents; print(d.name, d.text, sep='|')"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, input=given, capture_output=True, timeout=30)
    assert done.stderr == b""
    assert done.stdout.decode().startswith("standard input|") and wanted in done.stdout.decode()


# -- files that are made to harm


def packed(name: str, files: dict[str, bytes]) -> tuple[str, bytes]:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in files.items():
            archive.writestr(member, data)
    return name, out.getvalue()


def pdf_bomb() -> tuple[str, bytes]:
    """A page of six million words, packed into half a megabyte."""
    stream = zlib.compress(b"BT /F1 12 Tf 50 700 Td (x) Tj ET\n" * 6_000_000, 9)
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>"
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>", page,
        b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )  # fmt: skip
    data = b"%PDF-1.4\n" + b"".join(b"%d 0 obj%sendobj\n" % (n, x) for n, x in enumerate(objects, 1))
    return "bomb.pdf", data + b"trailer<</Size 6/Root 1 0 R>>\n%%EOF"


@pytest.mark.slow
@pytest.mark.timeout(200)
def test_files_that_are_made_to_harm_end_nothing_and_are_named() -> None:
    row = "".join(f'<row r="{n}"><c r="A{n}" t="inlineStr"><is><t>x</t></is></c></row>' for n in range(1, 1_000_000))
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    book = (
        f'<workbook xmlns="{main}"><sheets><sheet name="S" r:id="r1" xmlns:r="http://schemas.openxmlformats.org/'
        'officeDocument/2006/relationships"/></sheets></workbook>'
    )
    related = '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>'
    hostile = [
        packed("bomb.docx", {"word/document.xml": b" " * 400_000_000}),
        packed("bomb.zip", {"a.txt": b"a" * 200_000_000}),
        packed("many.zip", {f"{n}.txt": b"a" for n in range(6_000)}),
        packed("rows.xlsx", {
            "xl/workbook.xml": book.encode(), "xl/_rels/workbook.xml.rels": related.encode(),
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{row}</sheetData></worksheet>'.encode(),
        }),
        packed("inner.zip", {"a.zip": packed("a", {"b.txt": b"x"})[1]}),
        pdf_bomb(),
        ("deep.html", b"<div>" * 200_000 + b"deep"),
        ("deep.json", b"[" * 100_000),
        ("random.docx", b"PK\x03\x04" + bytes(range(256)) * 20),
        ("empty.docx", b""),
        ("wrong.docx", FILES["p02_table.pdf"]),
        *((name, FILES[name]) for name in (
            "q02_truncated.docx", "q03_random.pdf", "q07_old_ole.doc", "q14_xxe.html",
        )),
    ]  # fmt: skip
    said: list[str] = []
    with telling(said.append):
        found = read([*starmap(SentFile, hostile), SentFile("last.html", b"<p>The last one is read.")])
    assert (
        found.documents[-1].text == "The last one is read.\n"
        and said[-1] == f"file {len(hostile) + 1} of {len(hostile) + 1}"
    )
    named = {d.name for d in found.documents}
    assert {"deep.html", "deep.json", "wrong.docx", "q14_xxe.html"} <= named
    for name in ("bomb.docx", "bomb.zip", "many.zip", "rows.xlsx", "inner.zip/a.zip", "bomb.pdf"):
        assert any(line.startswith(f"{name} ") for line in found.left_out), (name, found.left_out)
