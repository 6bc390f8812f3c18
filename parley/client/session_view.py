"""The part of a session that a reader may see: the whole record, what clients read, or the posts that a seat reads."""

from collections.abc import Sequence

import msgspec

from parley.bus.channels import CLIENTS, may_read
from parley.client.faces.face import Face
from parley.client.protocols import face_of, face_of_posts
from parley.client.records import Record, closing, entries_of, opening, posts_of
from parley.client.show.presenter import Presenter
from parley.client.turns import Turns
from parley.schemas import log
from parley.schemas.afterwards.fork import FORK, Fork
from parley.schemas.post import Post, SessionRow, decode_body
from parley.schemas.result import Result


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """As much of a session as somebody may see: everything, what a client reads, or what a seat reads."""

    sid: str
    opened: log.Opened | None
    """None: only the posts are known."""
    posts: tuple[Post, ...]
    turns: Turns
    record: Record | None
    """The whole record, where nothing in it is closed to whoever asks."""
    row: SessionRow | None = None
    """What the list of sessions says of it, where somebody asked."""
    left_out: int = 0
    """Posts on channels that are not shown; 0 also where nobody knows."""

    @property
    def protocol(self) -> str:
        """Its protocol; empty: not known."""
        result = self.result
        if self.opened is not None or result is not None:
            return self.opened.protocol if self.opened else result.protocol if result else ""
        return self.row.protocol if self.row else ""

    @property
    def question(self) -> str:
        """Its question; empty: not known."""
        return self.opened.question if self.opened else self.row.question if self.row else ""

    @property
    def result(self) -> Result | None:
        """Its result; None while it is open. Raises Altered for what is none."""
        return closing(self.sid, self.posts)

    @property
    def fork(self) -> Fork | None:
        """Where it comes from, if it carries another's record on."""
        if self.opened is not None and self.opened.fork is not msgspec.UNSET:
            return self.opened.fork
        return fork_of(self.posts)

    @property
    def face(self) -> Face:
        """Its protocol's; where nobody has said that, of the protocol whose posts these are."""
        return face_of(self.protocol) if self.protocol else face_of_posts(self.posts) or face_of("")

    def presenter(self) -> Presenter:
        """The presenter of the session, before its first post."""
        return self.face.present(self.opened.settings if self.opened else None)

    def left_out_words(self) -> str:
        """That something is missing; empty where nothing is known to be."""
        if not self.left_out:
            return ""
        return f"{self.left_out:,} posts {self.face.presenter.left_out} are left out (--all shows them)"


def fork_of(posts: Sequence[Post]) -> Fork | None:
    """Where a session comes from, as its posts say it."""
    return next((decode_body(p, {FORK: Fork}) for p in reversed(posts) if p.kind == FORK), None)


def seen(session: Record | Seen, *, everything: bool = False) -> Seen:
    """A record as a client may see it, or all of it. What is seen already stays as it is.

    Raises
    ------
    Altered
        It has no opening entry, or an entry that is none.
    """
    if isinstance(session, Seen):
        return session
    entries, posts, opened = entries_of(session), posts_of(session), opening(session)
    asked = {c.channel for e in entries for c in e.commands if isinstance(c, log.Ask) and c.channel}
    if everything or all(map(_open, {*asked, *(p.channel for p in posts)})):
        return Seen(
            sid=session.sid, opened=opened, posts=tuple(posts), turns=Turns(entries, sid=session.sid), record=session
        )
    shown = tuple(p for p in posts if _open(p.channel))
    return Seen(
        sid=session.sid,
        opened=face_of(opened.protocol).seen_by_clients(opened),
        posts=shown,
        turns=Turns(entries, _open, sid=session.sid),
        record=None,
        left_out=len(posts) - len(shown),
    )


def _open(channel: str) -> bool:
    return may_read(CLIENTS, channel)
