"""The live view's figures: whose turn waits for nobody."""

from parley.client.view.seats import Scene
from parley.schemas import log
from parley.schemas.post import Live, Post
from parley.schemas.wire import decode, encode, raw
from tests.protocols.consensus.play import Play

SEATS = ("panelist_1", "panelist_2", "panelist_3")


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
    assert sorted(scene.seats) == list(SEATS) and states(scene) == ["queued"] * 3
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
