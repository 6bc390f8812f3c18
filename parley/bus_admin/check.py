"""`parley bus check`: attacks tried on a live bus as each of its users, a row for each.

What it needs is the folder that `parley bus config` wrote, or an embedded stack's `keys`: everybody's credentials, a
moderator's among them, which the referee uses. A row is good only if the attack was refused. One that could not be
tried is not.
"""

import asyncio
import contextlib
import logging
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from parley.attacks import answers, hearing, jetstream, owners, speaking, turns
from parley.attacks.actor import Actor
from parley.attacks.scene import NOT_RUN, REFUSED, CannotRun, Row, Scene, Verdict
from parley.bus import accounts, channels, connection
from parley.bus.accounts import Credentials
from parley.bus.connection import connect
from parley.bus.errors import BadKeyFile, BusError, WrongCredentials, addresses, shown_address
from parley.client.errors import BadInput, Unreachable

SECRET_LESS = (accounts.MODERATOR, accounts.OPERATOR)
"""Kinds that are trusted with everything of the bus or of the server: they attack nobody."""
_ONE_S = 20.0
_TOLD_S = 5.0
_WORD = re.compile(r"[\w-]+")


def load(folder: Path) -> dict[str, Credentials]:
    """Everybody's credentials in a folder, by user.

    Raises
    ------
    BadInput
        There is no such folder, none in it, or a file that cannot be used.
    """
    if not folder.is_dir():
        raise BadInput("dir", f"{folder} is no folder")
    try:
        credentials = [accounts.load_credentials(path) for path in sorted(folder.glob("*.json"))]
    except BadKeyFile as error:
        raise BadInput("dir", str(error)) from error
    if not credentials:
        raise BadInput("dir", f"{folder} holds no credentials; parley bus config writes them")
    return {c.user: c for c in credentials}


async def check(
    url: str,
    users: Mapping[str, Credentials],
    *,
    guess: Callable[[str], str] | None = None,
    only: Sequence[str] = (),
    pick: Callable[[str], bool] = lambda attack: True,
    via: Mapping[str, str] | None = None,
    on_row: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Try everything as everybody; the rows in the order of users and attacks.

    Parameters
    ----------
    guess
        Session -> the id that this bus's users give to a submission; None: random, as Parley's are.
    only
        Users that attack; none: all but moderators and operators.
    pick
        Which attacks, by their words.
    via
        User -> the address of a leaf node, where this one is; the others are at `url`.
    on_row
        Called after each attack.

    Raises
    ------
    BadInput
        No moderator's or no client's credentials among them.
    parley.bus.errors.BusError
        The bus cannot be reached, or a key is not accepted.
    """
    with _quiet():
        try:
            async with Scene(url, users, guess, via) as scene:
                names = [n for n, c in users.items() if c.kind not in SECRET_LESS and (not only or n in only)]
                rows = await asyncio.gather(*(_attacks(Actor(scene, name), pick, on_row) for name in sorted(names)))
        except CannotRun as error:
            raise BadInput("dir", str(error)) from error
    return [row for group in rows for row in group]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Every refusal would be a warning in the log."""
    log = logging.getLogger(connection.__name__)
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


async def _attacks(actor: Actor, pick: Callable[[str], bool], on_row: Callable[[Row], None]) -> list[Row]:
    rows = []
    for module in (hearing, speaking, jetstream, answers, turns, owners):
        for what, attack in module.attacks(actor):
            if not pick(what):
                continue
            verdict = await _tried(attack)
            row = Row(who=actor.name, group=actor.group, attack=what, outcome=verdict.outcome, how=verdict.how)
            rows.append(row)
            on_row(row)
    return rows


async def _tried(attack: Callable[[], Awaitable[Verdict]]) -> Verdict:
    try:
        async with asyncio.timeout(_ONE_S):
            return await attack()
    except TimeoutError:
        return Verdict(NOT_RUN, f"no end within {_ONE_S:g} s")
    except (CannotRun, BusError) as error:
        return Verdict(NOT_RUN, str(error))
    except Exception as error:  # an answer of another form, from whoever answers there
        return Verdict(NOT_RUN, f"{type(error).__name__}: {error}")


class _Progress:
    """Says what was tried, before a server's first attack, every `_TOLD_S` seconds, and after its last one."""

    def __init__(self, tell: Callable[[str], None], server: str) -> None:
        self._tell = tell
        self._server = server
        self._counts: Counter[str] = Counter()
        tell(f"{server}: attacks begin")
        self._told = time.monotonic()

    def row(self, row: Row) -> None:
        """One more."""
        self._counts[row.outcome] += 1
        if time.monotonic() - self._told >= _TOLD_S:
            self._say("so far")

    def end(self) -> None:
        """The server's are over."""
        self._say("done")

    def _say(self, where: str) -> None:
        self._told = time.monotonic()
        tried, refused = self._counts.total(), self._counts[REFUSED]
        self._tell(f"{self._server}: {tried} attacks tried {where}, {refused} of them refused")


def run(
    url: str,
    folder: Path,
    via: Mapping[str, str] | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> list[Row]:
    """The check, for the command line; of a cluster at each of its servers.

    Parameters
    ----------
    via
        As `check` takes it: then only those users attack.
    tell
        Called with words on how far it is, some seconds apart.

    Raises
    ------
    BadInput, Unreachable
        As `check`.
    """
    users = load(folder)
    if unknown := sorted(set(via or {}) - set(users)):
        raise BadInput("leaf", f"no credentials of {unknown[0]!r} in {folder}")
    try:
        servers = asyncio.run(servers_of(url, users))
        rows: list[Row] = []
        for number, server in enumerate(servers, 1):
            several = f"server {number} of {len(servers)}, " if len(servers) > 1 else ""
            progress = _Progress(tell, several + shown_address(server))
            at = url if len(servers) == 1 else server
            tried = asyncio.run(check(at, users, only=tuple(via or ()), via=via, on_row=progress.row))
            progress.end()
            told = shown_address(server) if len(servers) > 1 else ""
            rows += [msgspec.structs.replace(row, server=told) for row in tried]
        return rows
    except WrongCredentials as error:
        why = f"{error}. A stack of one protocol serves fewer users than its folder holds keys of"
        raise BadInput("dir", f"{why}: start it with all protocols (parley up), or name a folder of its own") from error
    except BusError as error:
        raise Unreachable(str(error)) from error


async def servers_of(url: str, users: Mapping[str, Credentials]) -> list[str]:
    """The addresses of a bus's servers: those that are given, or else those that one of them tells of. Raises
    BusError."""
    given = addresses(url)
    if len(given) > 1:
        return given
    async with await connect(url, next(iter(users.values())), name="parley bus check") as conn:
        told = [f"{s.scheme}://{s.netloc}" for s in conn.nc.discovered_servers] if conn.clustered else []
    return [*given, *(one for one in told if shown_address(one) != shown_address(url))]


def good(rows: Sequence[Row]) -> bool:
    """Whether every attack was refused."""
    return bool(rows) and all(row.outcome == REFUSED for row in rows)


def distinct(attacks: Iterable[str], users: Iterable[str]) -> frozenset[str]:
    """The different ones: at which user or channel an attack is aimed makes no other of it."""
    names = {*channels.CHANNELS, *users}
    return frozenset(_WORD.sub(lambda word: "…" if word[0] in names else word[0], attack) for attack in attacks)


def _distinct(rows: Sequence[Row]) -> int:
    return len(distinct((row.attack for row in rows), (row.who for row in rows)))


def document(url: str, rows: Sequence[Row]) -> dict[str, Any]:
    """The report as JSON values."""
    counts = Counter(row.outcome for row in rows)
    return {
        "bus": url,
        "passed": good(rows),
        "attacks": len(rows),
        "distinct": _distinct(rows),
        "different": len({(row.group, row.attack) for row in rows}),
        "outcomes": dict(counts),
        "rows": [msgspec.to_builtins(row) for row in rows],
    }


def table(rows: Sequence[Row]) -> Iterator[str]:
    """A line for each attack, and the sum."""
    at = max((len(row.server) for row in rows), default=0)
    who = max((len(row.who) for row in rows), default=0)
    what = max((len(row.attack) for row in rows), default=0)
    for row in rows:
        where = f"{row.server:{at}}  " if at else ""
        yield f"{where}{row.who:{who}}  {row.attack:{what}}  {row.outcome:13}  {row.how}"
    counts = Counter(row.outcome for row in rows)
    said = ", ".join(f"{n} {outcome}" for outcome, n in counts.most_common())
    tried = f"{len(rows)} attacks ({_distinct(rows)} distinct) by {len({row.who for row in rows})} users"
    if at:
        tried += f" at each of {len({row.server for row in rows})} servers"
    yield f"{tried}: {said or 'nothing was tried'}"
