"""What a model is shown."""

import msgspec
import pytest

from parley.agents.protocols import KITS, Kind, Kit, UnknownKind, kind_of, reply_schema
from parley.agents.show_turn import MissingDocument, MissingPost, show
from parley.schemas.protocols.consensus import PanelBrief, Position
from parley.schemas.turn import Caps, DocumentRef, ShownPost, Turn, Work
from parley.schemas.wire import Undecodable, encode, raw
from tests.protocols.consensus.simulate import document

DOCUMENT = document("kept/secret-name.md", "Text.", "panelist_1", "panelist_2")


def work(**changes: object) -> Work:
    """A message with one turn that shows two posts and an own one."""
    posts = tuple(
        ShownPost(
            n=n, channel="public", kind="position", round=1,
            body=raw(Position(answer=f"answer {n}", reasoning="r", confidence=0.5)),
        )
        for n in (3, 4, 5)
    )  # fmt: skip
    turn = {
        "id": "1-0", "token": "t", "seat": "panelist_1", "role": "panelist", "kind": "revise",
        "brief": raw(PanelBrief(iteration=2, round_limit=5)), "sees": (5, 3), "own": 4,
        "documents": (DocumentRef(id=DOCUMENT.id, name="turn/name.md"),), "deadline_ns": 9, "caps": Caps(),
    }  # fmt: skip
    return Work(
        session="s", protocol="consensus", question="Which?", round=2, channel="public", lane="any", decided_ns=1,
        posts=posts, turns=(Turn(**{**turn, **changes}),),  # type: ignore[arg-type]
    )  # fmt: skip


def test_others_come_in_the_turns_order_without_names() -> None:
    w = work()
    shown = show(w, w.turns[0], [DOCUMENT])
    assert [(o.label, o.post, o.body.answer) for o in shown.others] == [("", 5, "answer 5"), ("", 3, "answer 3")]
    assert shown.own.answer == "answer 4"
    assert shown.brief == PanelBrief(iteration=2, round_limit=5) and shown.reply is Position
    assert not {"panelist_2", "panelist_3"} & set(repr(shown.others).split("'"))


def test_documents_come_under_the_turns_names_and_without_holders() -> None:
    w = work()
    (shown,) = show(w, w.turns[0], [document("x", "other"), DOCUMENT]).documents
    assert (shown.name, shown.text, shown.holders) == ("turn/name.md", "Text.", ())


def test_two_copies_show_the_same() -> None:
    w = work()
    assert encode(_plain(w)) == encode(_plain(work()))


def _plain(w: Work) -> object:
    shown = show(w, w.turns[0], [DOCUMENT])
    return [shown.question, shown.brief, [[o.post, o.body] for o in shown.others], shown.own, shown.documents]


def test_what_is_missing_is_named() -> None:
    with pytest.raises(MissingDocument, match=r"turn/name\.md"):
        show(work(), work().turns[0], [])
    with pytest.raises(MissingPost, match="post 77"):
        show(work(), work(sees=(77,)).turns[0], [DOCUMENT])
    with pytest.raises(UnknownKind, match=r"'juggle'.*answer, compare"):
        show(work(), work(kind="juggle").turns[0], [DOCUMENT])
    with pytest.raises(Undecodable, match="PanelBrief"):
        show(work(), work(brief=raw({"iteration": "two"})).turns[0], [DOCUMENT])


class Word(msgspec.Struct):
    """A reply."""

    text: str


def test_a_protocol_from_outside_is_added_and_its_posts_are_plain_json() -> None:
    with pytest.raises(UnknownKind, match="protocol trial is not known here"):
        kind_of("trial", "say")
    KITS.add("trial", Kit({"say": Kind(brief=dict, reply=Word)}))
    w = Work(
        session="s", protocol="trial", question="q", round=1, channel="public", lane="any", decided_ns=1,
        posts=(ShownPost(n=0, channel="public", kind="said", round=1, body=raw({"a": 1})),),
        turns=(
            Turn(
                id="1-0", token="t", seat="x", role="x", kind="say", brief=raw({}), sees=(0,), deadline_ns=1,
                caps=Caps(),
            ),
        ),
    )  # fmt: skip
    assert show(w, w.turns[0]).others[0].body == {"a": 1}


def test_every_kind_has_a_schema_of_its_reply() -> None:
    assert set(KITS["consensus"].kinds) == {"answer", "revise", "sign", "compare", "conclude"}
    for protocol, kind in ((p, k) for p, kit in KITS.items() for k in kit.kinds):
        assert "$ref" in reply_schema(protocol, kind) or "properties" in reply_schema(protocol, kind)
