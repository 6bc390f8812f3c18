"""Sessions of a bus, of a state directory or of an exported file: listed, read, exported, followed, ended."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from parley.bus.errors import UnknownSession
from parley.client import read_posts
from parley.client.api import Parley
from parley.client.errors import BadInput, Interrupted, Refusal, Unreachable, bad_input
from parley.client.learned.taught import forget_erased as unlearn
from parley.client.listing import ListFilter, Listing, ListPage
from parley.client.records import ProtocolMissing, Record, check_protocol, read_record, record_of
from parley.client.rendering import documents, explain, terminal
from parley.client.rendering.picture import form_of
from parley.client.view.fold import Fold, fold_of
from parley.coordinator.protocols import PROTOCOLS
from parley.follow import EndedByUser, SessionSilent, follow
from parley.planned.access import bus_options, on_last_stack, place, run
from parley.planned.learned_file import file_of
from parley.planned.local_stack import LocalParley, lease_of
from parley.schemas.post import IndexRebuilt, SessionRow
from parley.schemas.result import Result
from parley.schemas.session import SESSION_ID
from parley.settings import Settings
from parley.show.view import choose
from parley.stack.disk_watch import telling
from parley.stack.lease import default_state, last_run, read_running


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """What rebuilding the index came to."""

    sessions: int
    """Sessions that were entered, or stood there already."""
    unreadable: tuple[str, ...]
    """Sessions whose log does not say what a row needs: no list has them."""
    whole: bool


class NoSession(BadInput):
    """There is no such session."""

    def __init__(self, sid: str, settings: Settings) -> None:
        super().__init__("session", _none_such(sid, settings))


def find(settings: Settings, wanted: ListFilter, limit: int, among: int) -> ListPage:
    """The newest sessions that fit, among so many that the credentials read."""

    async def main(parley: Parley) -> ListPage:
        return await Listing().find(parley.client, wanted, limit=limit, among=among)

    return on_last_stack(settings, main, ListPage([], None, 0, True))


def rebuild_index(settings: Settings, on_progress: Callable[[IndexRebuilt, int], None]) -> Rebuilt:
    """Enter every session of the log in the index that lists are read from.

    Parameters
    ----------
    on_progress
        Called after each piece, with it and the number of sessions so far.

    Raises
    ------
    BadInput
        The credentials are no owner's.
    Refusal
        The moderator refuses.
    Interrupted
        By the user: what was entered stays.
    """

    async def main(parley: Parley) -> Rebuilt:
        sessions, unreadable = 0, list[str]()
        async with contextlib.aclosing(parley.client.rebuild_index()) as pieces:
            async for piece in pieces:
                sessions += piece.sessions
                unreadable += piece.unreadable
                on_progress(piece, sessions)
        return Rebuilt(sessions=sessions, unreadable=tuple(dict.fromkeys(unreadable)), whole=True)

    try:
        return on_last_stack(settings, main, Rebuilt(sessions=0, unreadable=(), whole=True))
    except KeyboardInterrupt:
        raise Interrupted("interrupted; the sessions added so far stay, and you can repeat the command") from None


def record(settings: Settings, name: str) -> Record:
    """A session's record, from a file or by its id. Raises BadInput if there is neither."""
    path = Path(name)
    if path.is_file():
        return read_record(path)
    if path.suffix or "/" in name:
        raise BadInput("file", f"{name} does not exist")

    async def main(parley: Parley) -> Record:
        entries = await parley.client.log(name)
        if not entries:
            row = await parley.client.row(name) if SESSION_ID.fullmatch(name) else None
            raise why_no_record(name, row, settings)
        return record_of(name, entries)

    return on_last_stack(settings, main, NoSession(name, settings))


def why_no_record(sid: str, row: SessionRow | None, settings: Settings) -> BadInput:
    """Why a session has no record. `row`: what the list of sessions says of it."""
    if row is None:
        return NoSession(sid, settings)
    if row.status == "erased":
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime((row.erased_ns or 0) / 1e9))
        return BadInput("session", f"session {sid} was erased by {row.erased_by} at {at}")
    if row.status == "refused":
        return BadInput("session", f"session {sid} was refused: {row.reason}")
    ended = f"ended ({row.reason or row.status})" if row.closed_ns else "was open"
    why = f"its record is lost: session {sid} {ended}, and the bus has nothing of what was said"
    return BadInput("session", f"{why}. Look for it in a backup of the bus (docs/operations/backup.md)")


def view(settings: Settings, name: str, *, everything: bool) -> Fold:
    """A session as whoever asks may see it: all of it, what clients read, or what the seat of the credentials reads.
    Raises BadInput: there is no such session; `everything` with credentials that are no owner's."""
    if Path(name).is_file() or not settings.nats.url or read_posts.owns(settings.nats.creds):
        return fold_of(record(settings, name), everything=everything)
    if everything:
        raise BadInput("all", "only an owner's credentials see every channel of a session")
    url, creds = settings.nats.url, settings.nats.creds

    return run(read_posts.posts(url, creds, name))


class Cancelled(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one session that was to be cancelled."""

    session: str
    cancelled: bool
    why: str = ""
    """Why it was not."""


def cancel(settings: Settings, sids: Sequence[str], reason: str, tell: Callable[[str], None]) -> list[Cancelled]:
    """End sessions, one after the other; what became of each.

    Parameters
    ----------
    tell
        Called with a sentence on what takes long.

    Raises
    ------
    Unreachable, StackFailed
        The bus, or a moderator, is not there.
    """
    malformed = [sid for sid in sids if not SESSION_ID.fullmatch(sid)]
    wanted = [sid for sid in dict.fromkeys(sids) if sid not in malformed]
    if wanted:
        _tell_of_start(settings, tell)

    async def main(parley: Parley) -> list[Cancelled]:
        return [await _cancelled(parley, settings, sid, reason) for sid in wanted]

    missing = [_missing(sid, settings) for sid in malformed]
    without = [_missing(sid, settings) for sid in wanted]
    return missing + (on_last_stack(settings, main, without) if wanted else [])


async def _cancelled(parley: Parley, settings: Settings, sid: str, reason: str) -> Cancelled:
    try:
        await parley.client.cancel(sid, reason)
    except Refusal as refusal:
        return Cancelled(session=sid, cancelled=False, why=await _why_not(parley, settings, sid, refusal))
    return Cancelled(session=sid, cancelled=True)


def answer_now(settings: Settings, sid: str, tell: Callable[[str], None]) -> Result:
    """End a session with what it has come to by now; its result.

    Parameters
    ----------
    tell
        As `cancel` has it.

    Raises
    ------
    Refusal
        There is no such session, it is not open, or another's.
    Unreachable, StackFailed
        The bus, or a moderator, is not there.
    """
    _tell_of_start(settings, tell)

    async def main(parley: Parley) -> Result:
        try:
            await parley.client.answer_now(sid)
        except Refusal as refusal:
            raise Refusal("session", await _why_not(parley, settings, sid, refusal)) from refusal
        return await parley.client.result(sid)

    return on_last_stack(settings, main, NoSession(sid, settings))


def _tell_of_start(settings: Settings, tell: Callable[[str], None]) -> None:
    """Say that a stack must be started first, which takes its time."""
    state = settings.state or default_state()
    if not settings.nats.url and last_run(state) is not None and read_running(state) is None:
        tell(f"no stack runs in {state}, so the last one is started: a moderator ends sessions")


async def _why_not(parley: Parley, settings: Settings, sid: str, refusal: Refusal) -> str:
    row = None
    with contextlib.suppress(BadInput):  # a seat's credentials read no list
        row = await parley.client.row(sid)
    if row is not None and row.status in ("finished", "failed", "cancelled"):
        ended = row.status if row.reason in ("", row.status) else f"{row.status}, {row.reason}"
        return f"session {sid} had ended already ({ended}), so there was nothing to end"
    if row is not None and row.status == "erased":
        return f"session {sid} was erased, so there was nothing to end"
    if row is None and str(refusal).endswith(f"there is no session {sid}"):
        return _missing(sid, settings).why
    return str(refusal)


def _none_such(sid: str, settings: Settings) -> str:
    return f"there is no session {sid} in {place(settings)}; to list them: parley sessions list{bus_options(settings)}"


def _missing(sid: str, settings: Settings) -> Cancelled:
    return Cancelled(session=sid, cancelled=False, why=_none_such(sid, settings))


def feedback(settings: Settings, sid: str, *, right: bool, answer: str, note: str) -> None:
    """Say what a session's result is worth. Raises Refusal where it is open, unknown, erased or another's."""

    async def main(parley: Parley) -> None:
        row = await parley.client.row(sid) if SESSION_ID.fullmatch(sid) else None
        if row is not None and not settings.nats.url:
            check_protocol(sid, row.protocol)
        try:
            await parley.client.feedback(sid, right=right, answer=answer, note=note)
        except Unreachable as error:  # moderators leave a session alone whose protocol they do not have
            if row is not None and row.protocol not in PROTOCOLS:
                raise Unreachable(f"{error}; {ProtocolMissing(sid, row.protocol)}") from error
            raise

    on_last_stack(settings, main, NoSession(sid, settings))


def watch(
    settings: Settings, sid: str, *, json: bool, plain: bool, verbose: bool = False, everything: bool = False
) -> Result:
    """Follow a session to its end. Raises Interrupted when the user stopped watching; Refusal where it was refused."""

    async def main(parley: Parley) -> Result:
        view = choose(json=json, quiet=False, plain=plain, verbose=verbose)
        view.where = bus_options(settings)
        try:
            lease = lease_of(parley)
            state = lease.state if lease is not None else None
            if isinstance(parley, LocalParley) and (told := await parley.serve_again(sid)):
                view.note(f"parley: {told}")
            async with telling(state, view.note, lambda: parley.client.connection.nc.lacking):
                return await follow(parley, sid, view, can_leave=True, owns=False, everything=everything)
        except UnknownSession as error:
            if error.why:
                raise Refusal("session", str(error)) from None
            raise NoSession(sid, settings) from None
        finally:
            view.close()

    try:
        return on_last_stack(settings, main, NoSession(sid, settings), outlasts=True)
    except SessionSilent as lost:
        raise SessionSilent(sid, lost.what, bus_options(settings)) from lost
    except EndedByUser as ended:
        hint = f"parley sessions watch {sid}{bus_options(settings)}"
        raise Interrupted(f"interrupted: {ended.why}; {hint}") from None
    except KeyboardInterrupt:
        again = f"parley sessions watch {sid}{bus_options(settings)}"
        raise Interrupted(f"interrupted; to follow the session: {again}") from None


def erase(settings: Settings, sid: str, *, force: bool) -> dict[str, Any]:
    """Remove a session's texts; what was done and what remains, as JSON values. Raises BadInput: there is no such
    session; it is open and `force` is not set; the credentials are no owner's."""

    async def main(parley: Parley) -> tuple[list[str], list[str]]:
        if not parley.client.owner:
            raise BadInput("creds", "only an owner's credentials may erase a session")
        row = await parley.client.row(sid)
        if row is None:
            raise NoSession(sid, settings)
        if row.status == "open":
            if not force:
                raise BadInput("session", f"session {sid} is open; cancel it first, or --force does")
            await parley.client.cancel(sid, "to be erased")
        rows = await parley.client.sessions()
        await parley.client.erase(sid)
        return forks_of(sid, rows), recalled_by(sid, rows)

    forks, recalled = on_last_stack(settings, main, NoSession(sid, settings))
    unlearn(file_of(settings), [sid])
    told = [f"session {fork} carries its record on: its log holds these texts; erase it too" for fork in forks]
    told += [f"session {other} was shown notes of it, and holds them; erase it too" for other in recalled]
    return {
        "session": sid,
        "erased": True,
        "forks": forks,
        "recalled_by": recalled,
        "remains": [*told, *REMAINS],
    }


class _Listed(msgspec.Struct, frozen=True):
    sessions: tuple[SessionRow, ...]


def read_list(file: Path) -> tuple[SessionRow, ...]:
    """What `parley sessions list --json` printed. Raises BadInput."""
    what = f"{file} is not what parley sessions list --json prints"
    with bad_input("from", OSError), bad_input("from", msgspec.DecodeError, UnicodeDecodeError, what=what):
        return msgspec.json.decode(file.read_bytes(), type=_Listed).sessions


def forks_of(sid: str, rows: Sequence[SessionRow]) -> list[str]:
    """Sessions that carry a session's record on, and those that carry these on; erased ones left out."""
    forks = [row.session for row in rows if row.forks == sid]
    return [*forks, *(more for one in forks for more in forks_of(one, rows))]


def recalled_by(sid: str, rows: Sequence[SessionRow]) -> list[str]:
    """Sessions that were opened with notes of a session, and their forks; erased ones left out."""
    those = [row.session for row in rows if sid in (row.recalls or ())]
    return list(dict.fromkeys([*those, *(fork for one in those for fork in forks_of(one, rows))]))


REMAINS = (
    "one row in `parley sessions list`: its id, protocol, times, how it ended, who erased it and when",
    "texts of its documents, and sentences of it, in the memory of running agents, until others displace them or they"
    " restart",
    "what services logged and traced: ids, durations and counts, the reasons of refusals and faults",
    "exports and backups that were made of it, what follow-ups took over as a document, what a model's provider keeps",
)
"""What erasing does not reach (docs/retention.md)."""


def load_explained_record(settings: Settings, name: str, plot: Path | None = None) -> tuple[Record, str]:
    """The record that is explained, and what its picture shows, which is drawn into `plot`. Raises BadInput, before it
    looks for the record, where the file's name asks for a format that there is not."""
    if plot is not None:
        form_of(plot)
    explained = record(settings, name)
    return explained, explain.draw(explained, plot) if plot is not None else ""


def export(session: Record | Fold, form: str) -> Iterator[str]:
    """A session as lines, as far as it may be seen: `jsonl` (entries verbatim where all of it may be, else posts),
    `json`, `markdown` or `html`; of a task its coordination `trace` as JSON, where all of it may be seen."""
    if form == "jsonl":
        return documents.jsonl(session)
    if form == "json":
        return iter([msgspec.json.format(msgspec.json.encode(documents.document(session)), indent=2).decode()])
    if form == "markdown":
        return terminal.markdown(session)
    if form == "html":
        from parley.client.rendering import html

        return html.html(session)
    if form == "trace":
        whole = session if isinstance(session, Record) else session.record
        if whole is None:
            raise BadInput("trace", "a coordination trace needs the log, and only an owner's credentials can read it")
        return iter([msgspec.json.format(msgspec.json.encode(documents.trace(whole)), indent=2).decode()])
    raise BadInput("format", f"got {form!r}, allowed are jsonl, json, markdown, html, trace")
