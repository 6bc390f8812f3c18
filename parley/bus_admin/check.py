"""`parley bus check`: whether the server of a live bus enforces the accounts' table.

Each user tries what it may not (`parley.bus_admin.attacks`), and the server must refuse it. Besides, the server's
operator asks it what crosses between its accounts, and compares that with the table. All that it needs is the users'
credentials, from the folder that `parley bus config` wrote or from an embedded stack's `keys`. A row is good only if
every try was refused; a try that the server let through fails, whether it would have had an effect or not. What could
not be tried for want of a key is neither, and then nothing is said of the table.
"""

import asyncio
import contextlib
import json
import logging
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from parley.bus import accounts, connection, rights
from parley.bus.accounts import SYS, Credentials
from parley.bus.channels import CORE
from parley.bus.connection import Connection, connect
from parley.bus.errors import BadKeyFile, BusError, Denied, WrongCredentials, addresses, shown_address
from parley.bus_admin.attacks import ATTACKS, NEEDS, NOT_STORED, Attacker, Try
from parley.client.errors import BadInput, Unreachable, bad_input

Outcome = Literal["refused", "WENT THROUGH", "could not run", "as in the table", "not tried"]
REFUSED: Outcome = "refused"
THROUGH: Outcome = "WENT THROUGH"
NOT_RUN: Outcome = "could not run"
SAME: Outcome = "as in the table"
NOT_TRIED: Outcome = "not tried"
GOOD = (REFUSED, SAME)
COMPARED = "imports beyond the table"
TRUSTED = (accounts.MODERATOR, accounts.OPERATOR)
"""Kinds that are trusted with everything of the bus or of the server: they attack nobody."""
WIDTH = 80
"""Columns of a line."""
_ASK_S = 5.0


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    """One try that was not refused, or one difference from the table."""

    who: str
    what: str
    server: str = ""
    """Of a cluster, which one."""

    @property
    def words(self) -> str:
        """In a line."""
        return f"{self.who} {self.what}" + (f" at {self.server}" if self.server else "")


@dataclass
class AttackResult:
    """What became of one attack, by all users and at all servers."""

    attack: str
    good: Outcome = REFUSED
    """The outcome where nothing was found."""
    users: set[str] = field(default_factory=set)
    tries: int = 0
    through: list[Breach] = field(default_factory=list)
    not_run: list[Breach] = field(default_factory=list)
    lacking: set[str] = field(default_factory=set)
    """Users of the server whose keys are not there."""

    @property
    def outcome(self) -> Outcome:
        """Worst first: something went through, something could not run, something was not tried."""
        if self.through:
            return THROUGH
        if self.not_run:
            return NOT_RUN
        return self.good if self.tries and not self.lacking else NOT_TRIED

    @property
    def needs(self) -> str:
        """The keys for want of which it was not tried; empty: it was."""
        if self.outcome != NOT_TRIED:
            return ""
        if self.lacking:
            return "the keys of " + ", ".join(sorted(self.lacking))
        return "the operator's key" if self.attack == COMPARED else NEEDS.get(self.attack, "another user's key")

    @property
    def found(self) -> list[Breach]:
        """What went through, or else what could not run."""
        return self.through or self.not_run


def load(folder: Path) -> dict[str, Credentials]:
    """Everybody's credentials in a folder, by user. Raises BadInput: there is no such folder, none in it, or a file
    that cannot be used."""
    if not folder.is_dir():
        raise BadInput("dir", f"{folder} is no folder")
    with bad_input("dir", BadKeyFile):
        credentials = [accounts.load_credentials(path) for path in sorted(folder.glob("*.json"))]
    if not credentials:
        raise BadInput("dir", f"{folder} holds no credentials; parley bus config writes them")
    return {c.user: c for c in credentials}


def run(url: str, folder: Path) -> list[AttackResult]:
    """The check, at each server of a bus.

    Raises
    ------
    BadInput
        A folder that cannot be used, nobody in it who could attack, or a key that the server does not know.
    Unreachable
        No server answers.
    """
    users = load(folder)
    names = sorted(name for name, c in users.items() if c.kind not in TRUSTED)
    if not names:
        raise BadInput("dir", f"{folder} holds only the credentials of moderators and operators, who may do everything")
    try:
        with _quiet():
            return asyncio.run(_check(url, users, names))
    except WrongCredentials as error:
        why = f"{error}. A stack of one protocol serves fewer users than its folder holds keys of"
        raise BadInput("dir", f"{why}: start it with all protocols (parley up), or name a folder of its own") from error
    except BusError as error:
        raise Unreachable(str(error)) from error


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


async def servers_of(url: str, users: Mapping[str, Credentials]) -> list[str]:
    """The addresses of a bus's servers: those that are given, or else those that one of them tells of. Raises
    BusError."""
    given = addresses(url)
    if len(given) > 1:
        return given
    async with await connect(url, next(iter(users.values())), name="parley bus check") as conn:
        told = [f"{s.scheme}://{s.netloc}" for s in conn.nc.discovered_servers] if conn.clustered else []
    return [*given, *(one for one in told if shown_address(one) != shown_address(url))]


async def _check(url: str, users: Mapping[str, Credentials], names: Sequence[str]) -> list[AttackResult]:
    results = {attack: AttackResult(attack) for attack in ATTACKS}
    operator = next((c for c in users.values() if c.kind == accounts.OPERATOR), None)
    compared = AttackResult(COMPARED, SAME)
    servers = await servers_of(url, users)
    for server in servers:
        at = url if len(servers) == 1 else server
        told = shown_address(server) if len(servers) > 1 else ""
        async with AsyncExitStack() as stack:
            conns: dict[str, Connection] = {}
            for name in names:
                conns[name] = await connect(at, users[name], name="parley bus check")
                stack.push_async_callback(conns[name].close)
            await asyncio.gather(*(attack_as(conn, users, results, told) for conn in conns.values()))
        if operator is not None:
            await _compare(at, operator, users, compared, told)
    return [*results.values(), compared]


async def attack_as(
    conn: Connection, users: Mapping[str, Credentials], results: Mapping[str, AttackResult], at: str
) -> None:
    """Try all attacks as one user. After a try whose fate is not known, the rest counts as not run."""
    attacker = Attacker(conn.credentials, users, f"check_{secrets.token_hex(5)}")
    name = conn.credentials.user
    fault = ""
    for attack, tries in ATTACKS.items():
        result = results[attack]
        for one in tries(attacker):
            result.users.add(name)
            result.tries += 1
            did = ("on " if one.side == "publish" else "hears ") + one.subject
            try:
                if not fault and not await _is_refused(conn, one):
                    result.through.append(Breach(who=name, what=did, server=at))
            except BusError as error:
                fault = str(error)
            if fault:
                result.not_run.append(Breach(who=name, what=f"{did}: {fault}", server=at))


async def _is_refused(conn: Connection, one: Try) -> bool:
    """Try it. Raises BusError where the server did not say."""
    breaks = conn.breaks
    try:
        if one.side == "subscribe":
            await (await conn.subscribe(one.subject, lambda msg: None)).unsubscribe()
        else:
            await conn.publish(one.subject, one.payload, NOT_STORED, reply=conn.nc.new_inbox(), confirm=True)
    except Denied:
        return True
    if not conn.connected or conn.breaks != breaks:
        raise BusError("the connection broke")
    return False


async def _compare(
    url: str, operator: Credentials, users: Mapping[str, Credentials], result: AttackResult, at: str
) -> None:
    """Ask the server, as its operator, what each user's account takes of others', and find what the table does not say.

    What comes from an account of nobody in the folder cannot be judged; whose they are is noted."""
    rows = [c.row for c in users.values() if c.kind != accounts.OPERATOR]
    known = {CORE, *map(rights.broker_account, rows)}
    wanted: dict[str, set[tuple[str, str]]] = {account: set() for account in known}
    for (exporter, _, _), importers in rights.grants(rows).items():
        for account, crossings in importers.items():
            wanted[account] |= {(exporter, taken) for taken, _ in crossings}
    async with await connect(url, operator, name="parley bus check") as conn:
        try:
            strangers = set((await _accountz(conn))["accounts"]) - known
            result.lacking |= {name.partition(":")[2] for name in strangers if ":" in name}
        except (BusError, ValueError, KeyError) as error:
            result.not_run.append(Breach(who=operator.user, what=str(error), server=at))
        for row in rows:
            account = rights.broker_account(row)
            result.users.add(row.name)
            result.tries += 1
            try:
                taken = await _taken(conn, account)
            except (BusError, ValueError, KeyError) as error:
                result.not_run.append(Breach(who=row.name, what=str(error), server=at))
                continue
            if taken is None:
                result.through.append(Breach(who=row.name, what=f"has no account {account}", server=at))
                continue
            for exporter, subject in sorted(taken - wanted[account]):
                if exporter in known:
                    result.through.append(Breach(who=row.name, what=f"imports {subject} of {exporter}", server=at))


async def _taken(conn: Connection, account: str) -> set[tuple[str, str]] | None:
    """(exporting account, subject) of an account's imports, but for what the server itself adds; None: it has no such
    account. Raises BusError; ValueError, KeyError: an answer of another form."""
    detail = (await _accountz(conn, account=account)).get("account_detail")
    if detail is None:
        return None
    return {(i["account"], i["subject"]) for i in detail.get("imports") or () if i["account"] != SYS}


async def _accountz(conn: Connection, **asked: str) -> dict[str, Any]:
    """What the server says of one account, or the names of all. Raises BusError; ValueError: no JSON."""
    subject = f"$SYS.REQ.SERVER.{conn.server_id}.ACCOUNTZ"
    answer = await conn.request(subject, json.dumps(asked).encode(), _ASK_S)
    return json.loads(answer.data).get("data") or {}


def status(rows: Sequence[AttackResult]) -> int:
    """The exit status. 0: every attack was refused, and no account takes more than the table says; 1: one was not; 3:
    none went through, and not all were tried."""
    outcomes = {row.outcome for row in rows}
    if outcomes & {THROUGH, NOT_RUN}:
        return 1
    return 3 if NOT_TRIED in outcomes else 0


def document(url: str, rows: Sequence[AttackResult]) -> dict[str, Any]:
    """The report as JSON values."""
    return {
        "bus": url,
        "passed": status(rows) == 0,
        "attacks": len(rows),
        "outcomes": dict(Counter(row.outcome for row in rows)),
        "rows": [_row(row) for row in rows],
    }


def _row(row: AttackResult) -> dict[str, Any]:
    found = [msgspec.to_builtins(breach) for breach in row.found]
    counts = {"users": len(row.users), "tries": row.tries}
    return {"attack": row.attack, "outcome": row.outcome, **counts, "needs": row.needs, "found": found}


def table(rows: Sequence[AttackResult]) -> Iterator[str]:
    """A line for each attack, and the sum."""
    wide = max((len(row.attack) for row in rows), default=0)
    for row in rows:
        line = f"{row.attack:{wide}}  {row.outcome}"
        if row.found:
            more = f" (+{len(row.found) - 1})" if len(row.found) > 1 else ""
            room = WIDTH - len(line) - len(": ") - len(more)
            line += f": {_cut(row.found[0].words, room)}{more}"
        elif row.needs:
            line = _cut(f"{line}: it needs {row.needs}", WIDTH)
        else:
            line += f" ({row.tries} tries)"
        yield line
    tried = [row for row in rows if row.outcome != NOT_TRIED]
    bad = sum(row.outcome not in GOOD for row in tried)
    users = max((len(row.users) for row in rows), default=0)
    left = len(rows) - len(tried)
    said = "the server enforces the table"
    if bad:
        said = f"{bad} of them failed; --json names every user" + (f"; {left} not tried" if left else "")
    elif left:
        said = f"refused; {left} not tried: --dir takes the folder of all keys"
    yield f"{len(tried)} attacks as {users} users: {said}"


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else f"{text[: room - 1]}…"
