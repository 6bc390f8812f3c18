"""The live view's figures: whose turn waits for nobody."""

import msgspec

from parley.client.view.fold import Fold
from parley.client.view.seats import Scene
from parley.schemas import log
from parley.schemas.post import Live, Post
from parley.schemas.wire import decode, encode, raw
from tests.protocols.consensus.play import Play


def opened() -> Scene:
    scene = Scene()
    scene.entry(Play().entries[0])
    return scene


def states(scene: Scene) -> dict[str, str]:
    return {name: scene.shown(name) for name in sorted(scene.seats)}


def test_a_turn_whose_queue_nobody_serves_is_shown_at_once_and_until_somebody_does() -> None:
    scene = opened()
    assert states(scene) == {"panelist_1": "queued", "panelist_2": "queued", "panelist_3": "queued"}
    scene.workers(frozenset({"panelist_1", "panelist_3", "analyst"}))
    assert states(scene) == {"panelist_1": "queued", "panelist_2": "no worker", "panelist_3": "queued"}
    scene.workers(frozenset({"panelist_1", "panelist_2", "panelist_3", "analyst"}))
    assert states(scene)["panelist_2"] == "queued"


def test_a_worker_that_dies_while_it_thinks_is_seen() -> None:
    scene = opened()
    scene.live(Live(session="s1", seat="panelist_1", turn="0-0", state="thinking"))
    scene.workers(frozenset({"panelist_1"}))
    assert scene.shown("panelist_1") == "thinking"
    scene.workers(frozenset())
    assert scene.shown("panelist_1") == "no worker"
    scene.live(Live(session="s1", seat="panelist_1", turn="0-0", state="done"))
    assert scene.shown("panelist_1") == "answered", "what is answered waits for nobody"


def test_it_is_the_queue_that_counts_and_not_the_seats_name() -> None:
    entry = Play().entries[0]
    assert isinstance(entry.event, log.Opened)
    text = encode(entry).decode().replace('"queue":"panelist_2"', '"queue":"elsewhere"')
    scene = Scene()
    scene.entry(decode(text.encode(), log.Entry))
    scene.workers(frozenset({"panelist_1", "elsewhere", "panelist_3"}))
    assert states(scene) == {"panelist_1": "queued", "panelist_2": "queued", "panelist_3": "queued"}


def test_an_older_turns_reply_does_not_overwrite_what_a_seat_does_now() -> None:
    scene = Scene()
    scene.live(Live(session="s", seat="analyst", turn="9-1", state="thinking"))
    scene.live(Live(session="s", seat="analyst", turn="5-0", state="done"))
    assert states(scene) == {"analyst": "thinking"}
    post = Post(
        session="s", channel="public", k=0, n=0, transition=9, at_ns=0, seat="analyst", kind="analysis", round=1,
        body=raw({}),
    )  # fmt: skip
    scene.post(post)
    assert states(scene) == {"analyst": "thinking"}, "the turn was asked with the post"
    scene.post(msgspec.structs.replace(post, transition=12))
    assert states(scene) == {"analyst": "answered"}


def test_the_line_below_a_session_has_its_round_and_what_was_used_if_that_is_known() -> None:
    fold, unread = Fold("s"), Fold("s")
    said = Post(
        session="s", channel="public", k=0, n=0, transition=1, at_ns=0, kind="song", round=3, body=raw({})
    )  # fmt: skip
    fold.post(said)
    assert fold.foot() == "round 3 · 0 tokens, 0 calls"
    unread.post(msgspec.structs.replace(said, seat="a"))
    assert "calls" not in unread.foot(), "nobody knows them, and they are not none"


def test_a_sign_of_life_that_comes_after_the_answer_does_not_make_a_seat_think_again() -> None:
    scene = Scene()
    post = Post(
        session="s", channel="public", k=0, n=0, transition=12, at_ns=0, seat="analyst", kind="song", round=1,
        body=raw({}),
    )  # fmt: skip
    scene.post(post)
    scene.live(Live(session="s", seat="analyst", turn="9-1", state="thinking"))
    assert states(scene) == {"analyst": "answered"} and not scene.busy()
    scene.live(Live(session="s", seat="analyst", turn="12-0", state="thinking"))
    assert states(scene) == {"analyst": "thinking"}
