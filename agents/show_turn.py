"""What a model is shown: built here and nowhere else, from the turn alone.

`show` is a pure function of the WORK message, the turn and the documents it names, so two copies of a worker show their
models the same. Peers come without names; everybody refers to what they said by the numbers of posts.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from parley.agents.context import Other, Shown
from parley.agents.protocols import kind_of
from parley.schemas.session import Document
from parley.schemas.turn import Turn, Work
from parley.schemas.wire import decode


class ContextError(Exception):
    """The turn cannot be shown. Our fault, or the moderator's; never the model's."""


Bodies = dict[tuple[int, str], Any]


def show(work: Work, turn: Turn, documents: Iterable[Document] = (), bodies: Bodies | None = None) -> Shown:
    """What the model is shown of `turn`, one of `work.turns`.

    Parameters
    ----------
    documents
        At least those that the turn names, in any order.
    bodies
        What the message's posts were read as for other turns of it, by number and kind of turn: filled, and used.

    Raises
    ------
    UnknownKind
        The protocol has no such kind of turn here.
    ContextError
        What the turn refers to is not there.
    Undecodable
        The brief or a post is not what its kind says.
    """
    kind = kind_of(work.protocol, turn.kind)
    posts = {p.n: p for p in work.posts}
    texts = {d.id: d for d in documents}

    def body(n: int) -> Any:
        if n not in posts:
            raise ContextError(f"the turn shows post {n}, which its message does not carry")
        post = posts[n]
        as_type = kind.posts.get(post.kind)
        if as_type is None:
            return msgspec.json.decode(post.body)
        if bodies is None:
            return decode(post.body, as_type)
        place = (n, turn.kind)
        decoded = bodies.get(place)
        if decoded is None:
            decoded = bodies[place] = decode(post.body, as_type)
        return decoded

    documents_held, background = [], []
    for ref in turn.documents:
        if ref.id not in texts:
            raise ContextError(f"document {ref.name} of the turn was not fetched")
        if ref.background is True:
            background.append(texts[ref.id].text)
            continue
        documents_held.append(Document(id=ref.id, name=ref.name, text=texts[ref.id].text))
    return Shown(
        session=work.session,
        turn=turn.id,
        boundary=turn.boundary,
        protocol=work.protocol,
        question=work.question,
        seat=turn.seat,
        role=turn.role,
        kind=turn.kind,
        round=work.round,
        brief=decode(turn.brief, kind.brief),
        reply=kind.reply,
        others=tuple(
            Other(post=n, body=body(n), kind=posts[n].kind, round=posts[n].round, channel=posts[n].channel)
            for n in turn.sees
        ),
        own=None if turn.own is None else body(turn.own),
        documents=tuple(documents_held),
        background="\n\n".join(background),
        caps=turn.caps,
        stream=turn.stream,
        deadline_ns=turn.deadline_ns,
        attempt=turn.attempt,
        error=turn.error,
        refused=turn.refused,
    )
