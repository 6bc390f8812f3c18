"""Sessions that were recorded: exported, replayed, explained. A record is a session's id and its log entries, verbatim.

The file: a first line `{"parley": "session", "session": "<sid>", "version": 1}`, then one log entry a line, exactly as
stored.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bus.channels import CLIENTS, may_read
from client.errors import BadInput, ParleyError
from client.protocols.competition import story as competition_story
from client.protocols.competition.story import Story
from client.protocols.madp import trace as traces
from client.show import transcript
from client.text import clean, line
from client.turns import Turns
from coordinator.machine import Inadmissible
from coordinator.protocols import PROTOCOLS
from coordinator.replay import Diverged, Parting, replay, what_if
from schemas import log
from schemas.post import Post
from schemas.protocols.madp.trace import CoordinationTrace
from schemas.result import Result
from schemas.wire import SchemaError, decode

OPENING_ONLY = {
    "consensus": ("panel", "expertise_weight", "stream"),
    "critic": ("stream",),
    "maci": ("debaters", "judges", "cross_family"),
    "madp": ("expert", "folder", "files_mentioned", "code_snippets", "prior_conversation"),
    "competition": ("stances", "personalities", "styles", "context_posts", "stream"),
}
"""Settings by protocol that act before the first recorded event, or on what is shown alone: no replay can tell."""
VERSION = 1
MAX_FILE = 500_000_000
"""Bytes of a record."""


class Altered(ParleyError):
    """A record does not recompute: it was altered, or another version wrote it."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One session as it was recorded."""

    sid: str
    entries: tuple[str, ...]
    """Log entries exactly as stored; a session that is still open has no closing one."""


def write(record: Record) -> Iterator[str]:
    """Lines of the file, without line ends."""
    yield json.dumps({"parley": "session", "session": record.sid, "version": VERSION})
    yield from record.entries


def read(path: Path) -> Record:
    """A record from a file. Raises BadInput if it is missing, too large, or no record."""
    try:
        size = path.stat().st_size
        if size > MAX_FILE:
            raise BadInput("file", f"{path} has {size:,} bytes, allowed are {MAX_FILE:,}")
        lines = path.read_bytes().decode().split("\n")
        head = json.loads(lines[0])
        if isinstance(head, dict) and head.get("parley") == "posts":
            whole = "wanted is the record (sessions export --all, with an owner's credentials)"
            raise BadInput("file", f"{path} holds what was posted, as far as its owner might see it; {whole}")
        if not isinstance(head, dict) or head.get("parley") != "session" or not isinstance(head.get("session"), str):
            raise BadInput("file", f"{path} is no exported session: its first line does not say so")
    except OSError as error:
        raise BadInput("file", f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise BadInput("file", f"{path} is no exported session: {error}") from error
    if head.get("version") != VERSION:
        raise BadInput("file", f"{path} is of version {head.get('version')!r}, read is version {VERSION}")
    return Record(sid=head["session"], entries=tuple(text for text in lines[1:] if text))


def replayed_words(found: Mapping[str, Any]) -> str:
    """What `verify` found, in words."""
    text = f"session {found['session']}: {found['transitions']} transitions recompute to the same entries"
    return text if found["closed"] else f"{text}; the record is incomplete: it ends before the session does"


def verify(record: Record) -> dict[str, Any]:
    """Recompute it: what was found, as JSON values. Raises Altered where it does not recompute."""
    _whole(record)
    try:
        found = replay(PROTOCOLS.get, record.sid, record.entries)
    except Diverged as error:
        raise Altered(f"session {record.sid} does not recompute: {error}") from error
    return {
        "session": record.sid,
        "transitions": len(found.entries),
        "recomputed": True,
        "closed": found.result is not None,
        "digest": found.entries[-1].digest,
        "result": None if found.result is None else msgspec.to_builtins(found.result),
    }


def compare(record: Record, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Its events under other settings: where the two runs part, as JSON values.

    Parameters
    ----------
    settings
        Nested by protocol, as `--set consensus.threshold=70` gives them.

    Raises
    ------
    BadInput, Altered
        A setting of another protocol, or unknown; a record that does not recompute.
    """
    protocol = opening(record).protocol
    for name in settings:
        if name != protocol:
            raise BadInput(
                "--set", f"{name}: the session ran {protocol}, wanted are settings such as {protocol}.threshold"
            )
    for name in settings.get(protocol, {}):
        if name in OPENING_ONLY.get(protocol, ()):
            raise BadInput(
                f"{protocol}.{name}",
                "it acts before the first event, or on what is shown alone: no recorded session changes with it",
            )
    _whole(record)
    given = dict(settings.get(protocol, {}))
    if isinstance(given.get("format"), str) and protocol == "competition":
        from client.protocols.competition import files as formats

        given["format"] = msgspec.to_builtins(formats.read(given["format"]))
    try:
        parting: Parting = what_if(PROTOCOLS.get, record.sid, record.entries, given)
    except Inadmissible as error:
        raise BadInput(error.field, str(error)) from error
    except Diverged as error:
        raise Altered(f"session {record.sid} does not recompute: {error}") from error
    return {"session": record.sid, "settings": settings, **msgspec.to_builtins(parting)}


def comparison_words(found: Mapping[str, Any]) -> Iterator[str]:
    """The same in words."""
    n = found["n"]
    if n is None and found["result"] is None:
        yield f"the runs do not part in what was recorded, which is incomplete: {line(found['how'])}"
    elif n is None:
        yield f"the runs never part: {line(found['how'])}"
    else:
        yield f"the runs part at transition {n}: {line(found['how'])}"
        both = [("both", found["this"])]
        apart = [("recorded", found["recorded"]), ("this run", found["this"])]
        for name, texts in both if found["recorded"] == found["this"] else apart:
            for text in texts:
                yield f"  {name}: {line(text, 200)}"
    if found["stop"]:
        yield f"this run stops: {found['stop']}"
    yield f"{found['carried']} recorded events carried it"


def entries_of(record: Record) -> tuple[log.Entry, ...]:
    """Its entries, decoded. Raises Altered for what is no entry."""
    try:
        return tuple(decode(text.encode(), log.Entry) for text in record.entries)
    except SchemaError as error:
        raise Altered(f"session {record.sid}: {error}") from error


def _whole(record: Record) -> None:
    """Raise Altered where transitions are missing between others."""
    for wanted, entry in enumerate(entries_of(record)):
        if entry.n > wanted:
            which = f"transition {wanted} is" if entry.n == wanted + 1 else f"transitions {wanted} to {entry.n - 1} are"
            raise Altered(f"session {record.sid} does not recompute: {which} missing from the record")


def opening(record: Record) -> log.Opened:
    """Its first event. Raises Altered if it has none."""
    entries = entries_of(record)
    if not entries or not isinstance(entries[0].event, log.Opened):
        raise Altered(f"session {record.sid} has no opening entry")
    return entries[0].event


def posts_of(record: Record) -> list[Post]:
    """Everything that was said, on every channel, as the log has it."""
    posts: list[Post] = []
    counts: dict[str, int] = {}
    for entry in entries_of(record):
        for c in entry.commands:
            if isinstance(c, log.Say):
                k = counts.get(c.channel, 0)
                counts[c.channel] = k + 1
                posts.append(
                    Post(
                        session=record.sid,
                        channel=c.channel,
                        k=k,
                        n=len(posts),
                        transition=entry.n,
                        at_ns=entry.at_ns,
                        seat=c.seat,
                        kind=c.kind,
                        round=c.round,
                        body=c.body,
                    )
                )
    return posts


def result_of(record: Record) -> Result | None:
    """Its result; None while it is open."""
    for post in reversed(posts_of(record)):
        if post.kind == "closed":
            return decode(post.body, Result)
    return None


def trace(record: Record) -> CoordinationTrace:
    """The coordination trace of a task (client.protocols.madp.trace). Raises BadInput where it was none; Altered."""
    try:
        return traces.trace(record.sid, entries_of(record))
    except traces.NoTrace as error:
        raise BadInput("trace", str(error)) from error


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """As much of a session as somebody may see: everything, what a client reads, or what a seat reads."""

    sid: str
    opened: log.Opened | None
    """None: only the posts are known."""
    posts: tuple[Post, ...]
    turns: Turns
    record: Record | None
    """The whole record, where nothing in it is closed to whoever asks."""
    left_out: int = 0
    """Posts on channels that are not shown; 0 also where nobody knows."""

    @property
    def protocol(self) -> str:
        """Its protocol; empty: not known."""
        result = self.result
        return self.opened.protocol if self.opened else result.protocol if result else ""

    @property
    def question(self) -> str:
        """Its question; empty: not known."""
        return self.opened.question if self.opened else ""

    @property
    def result(self) -> Result | None:
        """Its result; None while it is open."""
        for post in reversed(self.posts):
            if post.kind == "closed" and post.channel == "control":
                return decode(post.body, Result)
        return None

    def story(self) -> Story:
        """A competition's, before its first post."""
        return competition_story.rules(self.opened.protocol, self.opened.settings) if self.opened else Story()

    def left_out_words(self) -> str:
        """That something is missing; empty where nothing is known to be."""
        if not self.left_out:
            return ""
        where = "on the teams' own channels and in the judge's notes"
        return f"{self.left_out:,} posts {where} are left out (--all shows them)"


def seen(found: Record | Seen, *, everything: bool = False) -> Seen:
    """A record as a client may see it, or all of it. What is seen already stays as it is.

    Raises
    ------
    Altered
        It has no opening entry, or an entry that is none.
    """
    if isinstance(found, Seen):
        return found
    entries, posts, opened = entries_of(found), posts_of(found), opening(found)
    asked = {c.channel for e in entries for c in e.commands if isinstance(c, log.Ask) and c.channel}
    if everything or all(map(_open, {*asked, *(p.channel for p in posts)})):
        return Seen(sid=found.sid, opened=opened, posts=tuple(posts), turns=Turns(entries, sid=found.sid), record=found)
    shown = tuple(p for p in posts if _open(p.channel))
    return Seen(
        sid=found.sid, opened=_without_held(opened), posts=shown, turns=Turns(entries, _open, sid=found.sid),
        record=None, left_out=len(posts) - len(shown),
    )  # fmt: skip


def _open(channel: str) -> bool:
    return may_read(CLIENTS, channel)


def _without_held(opened: log.Opened) -> log.Opened:
    """Without the texts of documents that one team alone holds."""
    teams = {team for s in opened.seats if (team := s.role) in ("pro", "con")}
    roles = {s.seat: s.role for s in opened.seats}
    documents = tuple(
        d if not d.holders or teams <= {roles.get(h) for h in d.holders} else msgspec.structs.replace(d, text="")
        for d in opened.documents
    )
    return msgspec.structs.replace(opened, documents=documents)


def show(found: Record | Seen) -> Iterator[str]:
    """The whole session in lines, as far as it may be seen."""
    found = seen(found)
    first, teller = found.opened, transcript.Teller(found.story(), found.turns)
    title = transcript.opening(found.sid, found.protocol, found.question, first.continues if first else "")
    yield from (text for _, text in title)
    for post in found.posts:
        yield from (text for _, text in teller.lines(post, 2_000))
    if found.result is not None:
        yield ""
    yield from (text for _, text in teller.end(found.result))
    if found.left_out:
        yield found.left_out_words()


def markdown(found: Record | Seen) -> Iterator[str]:
    """The whole session as a Markdown page, as far as it may be seen; texts stand in code blocks, so that nothing in
    them is markup."""
    found = seen(found)
    first, teller = found.opened, transcript.Teller(found.story(), found.turns)
    yield f"# Session {found.sid}"
    yield ""
    if first is not None:
        if first.continues:
            yield f"Follows up session {first.continues}."
        yield f"Protocol {first.protocol}, seed {first.seed}. Question:"
        yield ""
        yield from _block([clean(first.question)])
    round_ = 0
    for post in found.posts:
        said = [text for _, text in teller.lines(post, 20_000) if text]
        if post.round > round_:
            round_ = post.round
            yield ""
            yield f"## {'Stage' if teller.story.began else 'Round'} {round_}"
            yield ""
        if said:
            yield from _block(said)
    yield ""
    yield "## Result"
    yield ""
    yield from _block([text for _, text in teller.end(found.result)])
    if found.left_out:
        yield ""
        yield f"{found.left_out_words()}."


def _block(lines: Iterable[str]) -> Iterator[str]:
    shown = "\n".join(lines)
    longest = max((len(run) for run in _runs(shown, "`")), default=0)
    fence = "`" * max(3, longest + 1)
    yield f"{fence}text"
    yield shown
    yield fence


def _runs(text: str, char: str) -> list[str]:
    import re

    found: list[str] = re.findall(f"{re.escape(char)}+", text)
    return found


def document(found: Record | Seen) -> dict[str, Any]:
    """The whole session as one JSON value, as far as it may be seen; `entries` where all of it may."""
    found = seen(found)
    result = found.result
    whole = {"entries": [json.loads(text) for text in found.record.entries]} if found.record else {}
    return {
        "session": found.sid,
        "opened": None if found.opened is None else msgspec.to_builtins(found.opened),
        "posts": [json.loads(msgspec.json.encode(p)) for p in found.posts],
        "result": None if result is None else msgspec.to_builtins(result),
        "left_out": found.left_out,
        **whole,
    }


def lines(found: Record | Seen) -> Iterator[str]:
    """A session as JSON lines: its record where all of it may be seen, else its posts, under a head that says so."""
    found = seen(found)
    if found.record is not None:
        yield from write(found.record)
        return
    yield json.dumps({"parley": "posts", "session": found.sid, "version": VERSION, "left_out": found.left_out})
    yield from (msgspec.json.encode(post).decode() for post in found.posts)


def sessions_table(rows: Sequence[Any]) -> Iterator[str]:
    """A list of sessions in lines, the newest first."""
    import time

    yield f"{'session':20}  {'opened':16}  {'protocol':10}  {'status':9}  {'reason':10}  question"
    for row in rows:
        at = time.strftime("%Y-%m-%d %H:%M", time.localtime(row.opened_ns / 1e9))
        yield (
            f"{line(row.session):20}  {at}  {line(row.protocol):10}  {line(row.status):9}  {line(row.reason, 30):10}  "
            f"{line(row.question, 60)}"
        )
