"""One turn, as an agent or a model gets it, without a session."""

import time
from collections.abc import Mapping, Sequence
from enum import Enum
from hashlib import sha256
from typing import Any, get_origin

import msgspec

from parley.agents.context import Shown
from parley.agents.models.function import Turn
from parley.agents.protocols import kind_of
from parley.agents.show_turn import show
from parley.client.protocols import panel_setup
from parley.coordinator.protocols import PROTOCOLS
from parley.schemas.session import Document
from parley.schemas.turn import Caps, DocumentRef, ShownPost, Work
from parley.schemas.turn import Turn as TurnMessage
from parley.schemas.wire import InvalidValue, SchemaError, decode, raw

Documents = Mapping[str, str] | Sequence[str | Document]


def documents_of(given: Documents, *holders: str) -> tuple[Document, ...]:
    """Documents of texts: name -> text, or texts alone."""
    if isinstance(given, Mapping):
        named: list[Any] = list(given.items())
    else:
        named = [d if isinstance(d, Document) else (f"document-{i}.md", d) for i, d in enumerate(given, 1)]
    return tuple(
        d
        if isinstance(d, Document)
        else Document(id=sha256(d[1].encode()).hexdigest(), name=d[0], text=d[1], holders=holders)
        for d in named
    )


def turn(
    kind: str, question: str, *, protocol: str = "", documents: Documents = (), others: Sequence[Any] = (),
    own: Any = None, brief: Any = None, seat: str = "", role: str = "", round: int = 1, error: str = "",
    seconds: float = 120.0,
) -> Turn:  # fmt: skip
    """A turn of this kind, for a call of an agent: `await answer(turn("answer", "Canary or blue-green?"))`.

    Parameters
    ----------
    protocol
        Empty: the one of a panel.
    documents
        The seat's: name -> text, or texts.
    others
        What others said: bodies of posts (a mapping or a message), or pairs (kind of post, body).
    own
        The seat's own last position.
    brief
        What the moderator asks; None: what it needs at least, where that can be made up.
    seat, role
        Empty: the first seat of the protocol's first role.
    error
        Why the last reply was refused: the turn is a second attempt.
    seconds
        Until its deadline.

    Raises
    ------
    UnknownKind
        The protocol has no such kind of turn.
    InvalidValue
        The brief has fields that cannot be made up.
    """
    protocol = protocol or panel_setup().name
    role = role or PROTOCOLS[protocol].roles[0].name
    return Turn(
        shown_turn(
            kind, question, protocol=protocol, documents=documents, others=others, own=own, brief=brief,
            seat=seat or f"{role}_1", role=role, round=round, error=error,
            deadline_ns=time.time_ns() + int(seconds * 1e9),
        ),
        lambda text: None,
    )  # fmt: skip


def shown_turn(
    kind: str, question: str, *, protocol: str, documents: Documents = (), others: Sequence[Any] = (), own: Any = None,
    brief: Any = None, seat: str, role: str, round: int = 1, error: str = "", refused: str = "", attempt: int = 0,
    deadline_ns: int = 1,
) -> Shown:  # fmt: skip
    """The same as a model is shown it. The posts of `others` are numbered from 0; `own` comes behind them."""
    row = kind_of(protocol, kind)
    usual = next(iter(row.posts), kind)
    posts = tuple(
        ShownPost(n=n, channel="public", kind=post_kind, round=max(round - 1, 0), body=raw(body))
        for n, (post_kind, body) in enumerate(_of_kind(b, usual) for b in (*others, *(() if own is None else (own,))))
    )
    texts = documents_of(documents)
    asked = TurnMessage(
        id="1-0", token="t", seat=seat, role=role, kind=kind, brief=raw(_brief(row.brief, brief, round)),
        sees=tuple(range(len(others))), own=None if own is None else len(others),
        documents=tuple(DocumentRef(id=d.id, name=d.name) for d in texts), deadline_ns=deadline_ns, caps=Caps(),
        attempt=attempt or (2 if error else 1), error=error, refused=refused,
    )  # fmt: skip
    work = Work(
        session="s", protocol=protocol, question=question, round=round, channel="public", lane="any", decided_ns=1,
        posts=posts, turns=(asked,),
    )  # fmt: skip
    return show(work, asked, texts)


def _of_kind(body: Any, usual: str) -> tuple[str, Any]:
    return body if isinstance(body, tuple) and len(body) == 2 and isinstance(body[0], str) else (usual, body)


_PLAINEST: dict[Any, Any] = {int: 1, float: 1.0, str: "?", bool: False}


def _brief(wanted: Any, given: Any, round_: int) -> Any:
    """What is given, or a brief in which every field without a default has the plainest value; a number is the round's.
    Raises InvalidValue: the plainest values are none for it."""
    if given is not None or not (isinstance(wanted, type) and issubclass(wanted, msgspec.Struct)):
        return given if given is not None else {}
    try:
        return decode(raw(_plainest(wanted, round_)), wanted)
    except SchemaError as error:
        raise InvalidValue("brief", None, f"this kind of turn needs one; give a {wanted.__name__} ({error})") from error


def _plainest(wanted: Any, round_: int) -> Any:
    if isinstance(wanted, type) and issubclass(wanted, msgspec.Struct):
        fields = msgspec.structs.fields(wanted)
        return {f.encode_name: _plainest(f.type, round_) for f in fields if f.required}
    if isinstance(wanted, type) and issubclass(wanted, Enum):
        return next(iter(wanted))
    if get_origin(wanted) in (tuple, list, set, frozenset):
        return ()
    return round_ if wanted is int else _PLAINEST.get(wanted, {} if get_origin(wanted) is dict else None)
