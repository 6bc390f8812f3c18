"""Sessions of protocols that nobody has heard of, and of those that are known but wrote otherwise, are shown."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parley.client import follow_up
from parley.client.errors import BadInput
from parley.client.protocols import SHOWS, show_of, show_of_posts
from parley.client.records import Record, read_record
from parley.client.rendering import documents, explain, html
from parley.client.rendering.terminal import card_lines, markdown, show
from parley.client.show.answer import MOST_WORDS
from parley.client.show.card import Card, Chip, Quote
from parley.client.show.open_items import OpenItem
from parley.client.show.show import in_names
from parley.client.view.fold import Fold, fold_of, of_result
from parley.client.view.seats import Scene
from parley.schemas import log
from parley.schemas.post import Live, Post
from parley.schemas.result import Result, ResultUsage, SeatUsage, Stop
from parley.schemas.session import EVERYBODY, Document
from parley.schemas.wire import decode, encode, raw
from tests.protocols.consensus.play import Play

KEYS = st.text(max_size=6) | st.sampled_from([
    "answer", "reasoning", "citations", "confidence", "minority", "objections", "mixture", "team_totals", "depth",
    "consensus", "winner", "score", "threshold", "trend", "band", "what", "stops", "held", "near_consensus",
    "round", "positions", "missing", "verdicts", "speeches", "raised", "changes", "summary_post", "weights",
    "key_disagreements", "why", "by", "reason", "converged", "certificate", "turns", "seat", "human", "waits",
])  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=8)
KINDS = ["stop", "seat", "withdrawn", "position", "assessment", "tally", "signals", "silent", "work", "song"]
PROTOCOLS = ["sixth", *SHOWS]

LOGS = Path(__file__).parents[1] / "old_logs" / "1"
NOT_LOADED = "it ended for a reason of a package that is not loaded here"


def result_of(protocol: str, outcome: Any = None, rounds: Any = (), certificate: Any = None, **more: Any) -> Result:
    usage = ResultUsage(
        turns=1, calls=1, input_tokens=1, output_tokens=1, estimated=False, cost_usd=0.0, unaccounted_turns=0,
        unaccounted_tokens=0, by_seat={"voice": SeatUsage()},
    )  # fmt: skip
    stop = Stop(reason="enough", converged=True, certificate=certificate or {})
    given = {"session": "s1", "status": "finished", "outcome": outcome or {}, "stop": stop, **more}
    return Result(protocol=protocol, rounds=tuple(rounds), duration_s=1.0, usage=usage, **given)


def say(kind: str, body: Any, seat: str = "voice", channel: str = "public") -> log.Say:
    return log.Say(channel=channel, kind=kind, round=1, body=raw(body), seat=seat)


OPENED = log.Opened(
    protocol="sixth", version=1, question="Who sings?", settings={"verses": 3}, seats=(), seed=1, turn_timeout_s=60.0
)


def record_of(protocol: str, *says: log.Say, **more: Any) -> Record:
    opened = msgspec.structs.replace(OPENED, protocol=protocol, **more)
    events: list[log.Event] = [opened, log.TimerFired()]
    entries = [
        log.Entry(n=n, at_ns=n, cause=f"in:{n}", event=event, commands=says if n else (), digest="")
        for n, event in enumerate(events)
    ]
    return Record(sid="s1", entries=tuple(msgspec.json.encode(e).decode() for e in entries))


def post(kind: str, body: msgspec.Raw, channel: str = "public") -> Post:
    return Post(
        session="s1", channel=channel, k=0, n=0, transition=1, at_ns=0, seat="voice", kind=kind, round=1, body=body
    )


def everywhere(record: Record) -> Iterator[str]:
    """All that is shown of it."""
    yield "\n".join(show(record))
    yield "\n".join(markdown(fold_of(record, everything=True)))
    yield "\n".join(explain.explanation_lines(record, "all"))
    yield "\n".join(html.html(record))


def test_a_protocol_that_nobody_knows_is_shown_with_its_answer_and_its_figures() -> None:
    rounds = ({"round": 1, "tune": "slow", "voices": {"a": 2}},)
    result = result_of("sixth", {"answer": "A lark", "key": "D minor"}, rounds, {"bars": 12})
    record = record_of("sixth", say("song", {"text": "la la", "verse": 2}), say("closed", result, "", "control"))
    shown, _, explained, _ = everywhere(record)
    assert "  Voice, song\n      text: la la\n      verse: 2\n" in shown
    assert f"Answer: A lark\n  {NOT_LOADED}\n" in shown and "key: D minor" in shown
    assert "  Round 1:\n    tune: slow\n    voices: a 2\n" in explained and "  Bars: 12\n" in explained
    for text in everywhere(record):
        assert "A lark" in text and "D minor" in text


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_post_that_is_no_object_or_no_json_is_told(protocol: str) -> None:
    bodies = (b"7", b"null", b'"la"', b"[1,[2]]", b'{"a":{"b":[null]}}', b"not json", b"")
    for kind, body, channel in product(KINDS, bodies, ("public", "control")):
        fold = Fold("s1")
        fold.runs(protocol, {})
        card = fold.post(post(kind, msgspec.Raw(body), channel))
        assert card is not None and (list(card_lines(card)) or card.place == "hidden"), (kind, body)


@settings(max_examples=30)
@example("maci", {}, [], {"stops": True}, "song", None)
@example(
    "maci", {}, [], {"stops": {"agreement": {"tests": [7, {"test": "disagreement"}]}}, "one_answer": "no"}, "stop", 7
)
@example("madp", {"answer": 1}, [], {}, "work", "")
@given(st.sampled_from(PROTOCOLS), OBJECTS, st.lists(OBJECTS, max_size=3), OBJECTS, st.sampled_from(KINDS), VALUES)
def test_no_result_and_no_post_is_too_odd_to_be_shown_and_explained(
    protocol: str,
    outcome: dict[str, Any],
    rounds: list[dict[str, Any]],
    certificate: dict[str, Any],
    kind: str,
    body: Any,
) -> None:
    result = result_of(protocol, outcome, rounds, certificate)
    said = say(kind, body), say("stop", body, "", "control")
    record = record_of(protocol, *said, say("closed", result, "", "control"))
    for text in everywhere(record):
        assert NOT_LOADED in text or "nobody led" in text  # what stands behind an answer is told in place of the stop
    assert documents.document(record)["view"]["result"] is not None
    assert follow_up.earlier(record).background[0].text
    card = of_result(result)
    assert sum(len(told.text.split()) for told in card.lines) <= MOST_WORDS and card.parts


STARTS = {".png": b"\x89PNG", ".svg": b"<?xml"}


@pytest.mark.parametrize("protocol", ["competition", "consensus", "critic", "maci"])
def test_what_was_measured_is_drawn_the_same_each_time(protocol: str, tmp_path: Path) -> None:
    for ending, start in STARTS.items():
        first, again = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
        said = explain.draw(read_record(LOGS / f"{protocol}.jsonl"), first)
        explain.draw(read_record(LOGS / f"{protocol}.jsonl"), again)
        assert first.read_bytes() == again.read_bytes() and first.read_bytes().startswith(start)
        assert said.startswith(f"{first}: ") and ", by " in said


@pytest.mark.parametrize(
    ("protocol", "name", "why"),
    [
        ("maci", "x.xyz", r"x\.xyz ends in '\.xyz', allowed are \.png and \.svg"),
        ("maci", "x", "ends in 'nothing'"),
        ("maci", "none/x.svg", "cannot write .*x.svg: No such file"),
        ("single", "x.svg", "has no picture: nothing was measured by round"),
    ],
)
def test_what_cannot_be_drawn_says_why(protocol: str, name: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=why):
        explain.draw(read_record(LOGS / f"{protocol}.jsonl"), tmp_path / name)


def test_a_session_whose_protocol_nobody_said_is_known_by_its_posts() -> None:
    assert show_of_posts([post("song", raw({}))]) is None
    position = raw({"answer": "Oslo", "reasoning": "", "confidence": 0.5})
    found = show_of_posts([post("song", raw({})), post("position", position)])
    assert found is SHOWS["consensus"]
    silence = raw({"seat": "pro_1", "asked": "speak", "stage": "One", "why": "late"})
    assert show_of_posts([post("silent", silence)]) is SHOWS["competition"]


def test_texts_that_some_seats_alone_hold_are_not_shown_to_clients() -> None:
    documents = tuple(
        Document(id=name, name=name, text="known", holders=holders)
        for name, holders in (("all", ()), ("dealt", (EVERYBODY,)), ("own", ("a",)))
    )
    opened = msgspec.structs.replace(OPENED, documents=documents)
    assert [d.text for d in show_of("sixth").seen_by_clients(opened).documents] == ["known", "known", ""]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("panelist_2 and Pro_1 agree, says con_2.", "Panelist 2 and Pro 1 agree, says Con 2."),
        ("qa-engineer's part; sre is next", "QA Engineer's part; SRE is next"),
        ("see evidence/panelist_2/size.md, qa-engineer.yaml, `qa-engineer` and it", None),
        ("panelist_21 my_panelist_2 panelist_2_old", None),
    ],
)
def test_texts_call_seats_by_their_names_and_files_and_quotations_stay(said: str, shown: str | None) -> None:
    seats = ("panelist_2", "pro_1", "con_2", "qa-engineer", "sre", "it")
    card = Card(
        text=said, chips=(Chip(text=said),), position=said, code=said, quotes=(Quote(document="a", quote=said),)
    )
    named = in_names(card, seats)
    assert (named.text, named.chips[0].text) == (shown or said,) * 2
    assert (named.position, named.code, named.quotes) == (said, said, card.quotes)
    asks = OpenItem(item="1", kind="lead", question=said, choices=("qa-engineer",), default="", deadline_ns=0)
    question = msgspec.structs.replace(card, asks=asks)
    assert in_names(question, seats) == question, "what is typed stands as it is typed"
    assert in_names(card, ()) == card


# -- the live view: whose turn waits for nobody


def said(seat: str, transition: int) -> Post:
    return Post(
        session="s", channel="public", k=0, n=0, transition=transition, at_ns=0, seat=seat, kind="song", round=3,
        body=raw({}),
    )  # fmt: skip


def opened() -> Scene:
    """The second seat's queue has another name."""
    scene = Scene()
    text = encode(Play().entries[0]).decode().replace('"queue":"panelist_2"', '"queue":"elsewhere"')
    scene.entry(decode(text.encode(), log.Entry))
    return scene


def states(scene: Scene) -> list[str]:
    return [scene.shown(name) for name in sorted(scene.seats)]


def test_a_turn_whose_queue_nobody_serves_is_shown_at_once_and_until_somebody_does() -> None:
    scene = opened()
    assert sorted(scene.seats) == ["panelist_1", "panelist_2", "panelist_3"] and states(scene) == ["queued"] * 3
    scene.workers(frozenset({"panelist_1", "panelist_2", "panelist_3", "analyst"}))
    assert states(scene) == ["queued", "no worker", "queued"], "it is the queue that counts, and not the seat's name"
    scene.workers(frozenset({"panelist_1", "elsewhere", "panelist_3"}))
    assert states(scene) == ["queued"] * 3


def test_a_worker_that_dies_while_it_thinks_is_seen() -> None:
    scene = opened()
    scene.live(Live(session="s1", seat="panelist_1", turn="0-0", state="thinking"))
    scene.workers(frozenset({"panelist_1"}))
    assert scene.shown("panelist_1") == "thinking"
    scene.workers(frozenset())
    assert scene.shown("panelist_1") == "no worker"
    scene.live(Live(session="s1", seat="panelist_1", turn="0-0", state="done"))
    assert scene.shown("panelist_1") == "answered", "what is answered waits for nobody"


def test_what_comes_late_does_not_overwrite_what_a_seat_does_now() -> None:
    scene = Scene()
    scene.live(Live(session="s", seat="analyst", turn="9-1", state="thinking"))
    scene.live(Live(session="s", seat="analyst", turn="5-0", state="done"))
    assert states(scene) == ["thinking"]
    scene.post(said("analyst", 9))
    assert states(scene) == ["thinking"], "the turn was asked with the post"
    scene.post(said("analyst", 12))
    assert states(scene) == ["answered"]
    scene.live(Live(session="s", seat="analyst", turn="9-1", state="thinking"))
    assert states(scene) == ["answered"] and not scene.busy()
    scene.live(Live(session="s", seat="analyst", turn="12-0", state="thinking"))
    assert states(scene) == ["thinking"]
