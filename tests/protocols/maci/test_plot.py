"""The picture of a MACI session's signals."""

import io
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib
import matplotlib.image
import pytest

from parley.client import records
from parley.client.errors import BadInput
from parley.client.protocols.maci import story as maci_story
from parley.client.protocols.maci.plot import draw
from parley.client.records import Record
from parley.client.rendering import explain
from parley.client.show import plotting
from parley.schemas.wire import encode
from tests.client.test_page import HOSTILE, LONG
from tests.parley.support import Front
from tests.protocols.consensus.play import Play
from tests.protocols.maci import record as maci_record
from tests.protocols.maci.record import Words


def drawn(record: Record, folder: Path, name: str = "signals.svg") -> bytes:
    explain.draw(record, folder / name)
    return (folder / name).read_bytes()


def texts(svg: bytes) -> int:
    return len([e for e in ET.fromstring(svg).iter() if e.get("id", "").startswith("text_")])


def test_it_is_a_picture_in_the_format_that_the_name_asks_for(tmp_path: Path) -> None:
    png = drawn(maci_record.record(), tmp_path, "signals.PNG")
    assert matplotlib.image.imread(io.BytesIO(png)).shape[:2] == (1560, 1140)
    svg = ET.fromstring(drawn(maci_record.record(), tmp_path))
    groups = {e.get("id") for e in svg.iter()}
    assert {"axes_1", "axes_2", "axes_3", "axes_4"} <= groups, "signals, dials, gates, mixture"


def test_the_same_session_gives_the_same_bytes(tmp_path: Path) -> None:
    assert drawn(maci_record.record(), tmp_path) == drawn(maci_record.record(), tmp_path, "again.svg")


def test_the_stop_is_drawn(tmp_path: Path) -> None:
    ended, open_ = drawn(maci_record.record(), tmp_path), drawn(maci_record.record(ended=False), tmp_path)
    assert texts(ended) == texts(open_) + 1, "its reason"


def test_what_was_not_scored_is_not_drawn() -> None:
    """No judge replied, or nothing was measured: such a value has neither a mark nor a place in the legend."""
    found = maci_story.story(records.posts_of(maci_record.record()))
    plain = draw(found, None, "svg")
    for unknown in ({"crit": None}, {"q": None}, {"q": None, "crit": None}):
        bare = [maci_story.replace(h, ruled=maci_story.replace(h.ruled, **unknown)) for h in found.arguments]
        drawing = draw(maci_story.replace(found, arguments=tuple(bare)), None, "svg")
        assert texts(drawing) == texts(plain) - 2 * len(unknown), "admitted and refused"


def test_each_figure_moves_the_picture(tmp_path: Path) -> None:
    """A change of any signal, dial, flag or argument is seen."""
    posts = records.posts_of(maci_record.record())
    found = maci_story.story(posts)
    first = draw(found, None, "svg")
    for name, value in {
        "jsd": 0.9, "overlap": 0.9, "q": 0.9, "crit": 0.1, "entropy": 0.05, "cl": 0.01, "tau_q": 0.9, "tau_crit": 0.9,
        "pi_i": True, "held": True, "mixture": {"dengue": 1.0},
    }.items():  # fmt: skip
        rounds = (*found.rounds[:-1], maci_record.round_(Words(), 3, **{name: value}))
        assert draw(maci_story.replace(found, rounds=rounds), None, "svg") != first, name
    assert draw(maci_story.replace(found, arguments=()), None, "svg") != first


@pytest.mark.parametrize("name", ["signals.png", "signals.svg"])
def test_names_are_drawn_as_text_and_never_as_mathematics(tmp_path: Path, name: str) -> None:
    words = Words(outcomes=(r"$\undefinedsymbol{$", r"_ $\frac{1}{0}$", "\x1b[31m中文\u202e", LONG, *HOSTILE[:4]))
    with matplotlib.rc_context({"text.usetex": True, "text.parse_math": True}):  # as a matplotlibrc may say
        assert len(drawn(maci_record.record(words), tmp_path, name)) > 10_000


def test_one_round_is_enough_and_none_is_not(tmp_path: Path) -> None:
    assert drawn(maci_record.record(rounds=0, ended=False), tmp_path).startswith(b"<?xml")
    empty = Record(sid="s", entries=maci_record.record().entries[:1])
    with pytest.raises(BadInput, match="ended before its first round"):
        drawn(empty, tmp_path)


def test_a_protocol_without_signals_is_refused(tmp_path: Path) -> None:
    record = Record(sid="s1", entries=tuple(encode(e).decode() for e in Play().entries))
    with pytest.raises(BadInput, match="s1 ran consensus, which has no picture; competition and maci have one"):
        drawn(record, tmp_path)


@pytest.mark.parametrize("name", ["signals.pdf", "signals", "png"])
def test_any_other_format_is_refused_with_those_that_are_allowed(name: str) -> None:
    with pytest.raises(BadInput, match=r"allowed are \.png and \.svg"):
        plotting.form_of(Path(name))


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"cannot write .*nowhere"):
        explain.draw(maci_record.record(), tmp_path / "nowhere" / "signals.svg")


def test_the_command_explains_and_draws_or_says_why_not(tmp_path: Path) -> None:
    front = Front(tmp_path)
    (tmp_path / "s.jsonl").write_text("\n".join(records.write(maci_record.record())))
    code, out, err = front.run("explain", "s.jsonl", "--plot", "signals.svg")
    assert (code, err) == (0, "") and "a deadlock, not convergence" in out
    assert (tmp_path / "signals.svg").read_bytes().startswith(b"<?xml")
    code, out, err = front.run("explain", "s.jsonl", "--plot", "signals.gif")
    assert code == 2 and "allowed are .png and .svg" in err and out == ""
