"""Evidence that is no plain text: tables, web pages, PDF, and standard input, with real files."""

import io
import subprocess
import sys
from pathlib import Path

import pytest

from parley.agents.retrieval.passages import passages
from parley.client.errors import BadInput
from parley.client.evidence import formats, read_documents
from parley.client.evidence.formats import MOST_PAGES

ROOT = Path(__file__).parents[2]


def pdf(*pages: str) -> bytes:
    """A PDF of these pages, a line of text each line."""
    bodies = []
    for page in pages:
        shown = "".join(f"({line}) Tj T* " for line in page.split("\n"))
        stream = f"BT /F1 12 Tf 14 TL 50 700 Td {shown}ET".encode("latin-1")
        bodies.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, body in enumerate(bodies):
        what = f"/Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * i} 0 R"
        objects += [f"<< /Type /Page {what} >>".encode(), body]
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, io.SEEK_END)
    places = []
    for n, text in enumerate(objects, 1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (n, text))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start))
    return out.getvalue()


def text(path: Path) -> str:
    (document,) = read_documents(path)
    assert document.name == path.name
    return document.text


def refusal(path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        read_documents(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "table"),
    [
        ("canals.csv", "Canal,Opened,Length in km\nSuez,1869,193\n\nPanama,1914,\n\"Kiel, the\",1895,98,extra\n"),
        ("canals.csv", "Canal;Opened;Length in km\nSuez;1869;193\nPanama;1914;\nKiel, the;1895;98;extra\n"),
        ("canals.tsv", "Canal\tOpened\tLength in km\nSuez\t1869\t193\nPanama\t1914\t\nKiel, the\t1895\t98\textra\n"),
    ],
)  # fmt: skip
def test_each_row_of_a_table_says_the_headers(tmp_path: Path, name: str, table: str) -> None:
    (tmp_path / name).write_text(table)
    assert text(tmp_path / name) == (
        "- Canal: Suez; Opened: 1869; Length in km: 193\n"
        "- Canal: Panama; Opened: 1914\n"
        "- Canal: Kiel, the; Opened: 1895; Length in km: 98; column 4: extra\n"
    )


def test_no_passage_of_a_table_is_without_its_headers(tmp_path: Path) -> None:
    rows = "".join(f"station {i},{i * 7} mm\n" for i in range(300))
    (tmp_path / "rain.csv").write_text(f"Station,Rain in March\n{rows}")
    (document,) = read_documents(tmp_path)
    pieces, _ = passages(document)
    assert len(pieces) > 10
    for piece in pieces:
        assert piece.text.count("Station: ") == piece.text.count("Rain in March: ") > 0


def test_a_table_of_one_line_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("one, two\n")
    assert text(tmp_path / "a.csv") == "one, two\n"


def test_a_web_page_is_its_text_and_its_tables_keep_their_headers(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        "<!doctype html><html><head><title>t</title><style>p {}</style></head><body><nav>Home</nav>"
        "<h2>The  canal</h2><p>It was opened<br>in <b>1869</b> &amp; widened.<p>Ships pay."
        "<ul><li>one<li>two <i>three</i></ul><script>alert('x < y')</script>"
        "<table><tr><th>Year<th>Ships</tr><tr><td>1870<td><p>486</p></tr><tr><td>1880<td>2,026</table>"
        "<table><tr><td>left</td><td>right</td></tr></table></body></html>"
    )
    assert text(tmp_path / "page.html") == (
        "## The canal\n\nIt was opened in 1869 & widened.\n\nShips pay.\n\n- one\n\n- two three\n\n"
        "- Year: 1870; Ships: 486\n- Year: 1880; Ships: 2,026\n\nleft right\n"
    )


def test_a_web_page_says_its_encoding(tmp_path: Path) -> None:
    (tmp_path / "page.htm").write_bytes('<meta charset="iso-8859-1"><p>caf\u00e9</p>'.encode("latin-1"))
    assert text(tmp_path / "page.htm") == "caf\u00e9\n"
    (tmp_path / "page.htm").write_bytes(b'<meta charset="hex"><p>x</p>')
    assert "page.htm says it is hex, which is no encoding of text" in refusal(tmp_path / "page.htm")


def test_a_pdf_is_the_text_of_its_pages(tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(pdf("The trial cost\n41,000 euros in to-\ntal.", "It ended in May."))
    assert " ".join(text(tmp_path / "report.pdf").split()) == "The trial cost 41,000 euros in total. It ended in May."


def test_a_pdf_that_cannot_be_used_is_refused_by_name_and_limit(tmp_path: Path) -> None:
    from pypdf import PdfWriter

    path = tmp_path / "report.pdf"
    path.write_bytes(b"%PDF-1.4 and nothing else")
    assert "report.pdf cannot be read as a PDF" in refusal(path)
    path.write_bytes(pdf(""))
    assert "report.pdf holds no text" in refusal(path)
    path.write_bytes(pdf(*["a"] * (MOST_PAGES + 1)))
    assert "report.pdf has 2,001 pages, allowed are 2,000" in refusal(path)
    path.write_bytes(pdf(*["x" * 150_000] * 8))
    assert "report.pdf has more than 1,000,000 characters, which is the limit (on page 7 of 8)" in refusal(path)
    locked = PdfWriter(clone_from=io.BytesIO(pdf("secret")))
    locked.encrypt("word", algorithm="RC4-128")
    with path.open("wb") as file:
        locked.write(file)
    assert "report.pdf is locked with a password" in refusal(path)


def test_without_what_reads_a_pdf_the_error_says_how_to_install_it(tmp_path: Path) -> None:
    (tmp_path / "report.pdf").write_bytes(pdf("text"))
    program = (
        "import sys; sys.modules['pypdf'] = None\n"
        "from parley.client.evidence import read_documents\n"
        "try: read_documents(sys.argv[1])\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    asked = [sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    how = f"{sys.executable} -m pip install pypdf (the extra parley[pdf])"
    assert done.stdout == f"BadInput evidence: report.pdf is a PDF, and what reads one is not installed: {how}\n"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(b"plain <b>\n", "plain <b>\n"), (b" <!DOCTYPE html><p>page", "page\n"), (pdf("from a pipe"), "from a pipe\n")],
)
def test_standard_input_is_read_by_how_it_begins(given: bytes, wanted: str) -> None:
    program = "from parley.client.evidence import read_documents; print(*read_documents('-'), sep='|')"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, input=given, capture_output=True, timeout=30)
    assert done.stderr == b""
    assert repr(wanted) in done.stdout.decode() and "name='standard input'" in done.stdout.decode()


def test_the_kinds_of_files_are_told_by_suffix_whatever_its_case() -> None:
    assert formats.in_text("A.CSV", b"a,b\n1,2\n") == "- a: 1; b: 2\n"
