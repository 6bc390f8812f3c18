"""One table of users -> the nats-server configuration: who may say, hear and take what.

Every isolation that Parley promises is carried out by the broker, as this table is rendered for it. Who reads and
writes which channel is decided in `bus.channels`. CORE holds JetStream and the
streams; the others have none, and see of CORE only what it exports to exactly them. Rows are users; the rest follows
from `bus.channels` (which group reads and writes which channel), so a team is added by adding rows there.

| kind | group | may |
|---|---|---|
| moderator | CORE | everything of Parley and JetStream |
| client | CLIENTS | submit on IN in its own name, ask for its fate, read its channels |
| owner | CLIENTS | the same, ask for the list of sessions, for logs and living workers, and erase sessions |
| agent | of its queue's role | take its queue's turns, speak in its own name, read its channels, announce itself |
| operator | SYS | reload and monitor the server |

A person who takes a seat is an agent of the seat's role, on a queue of its own (schemas.session.human_queue). An expert
announces itself with the one specification that its row pins, or not at all; a helper may hear that, and call for it.

The broker knows a group outside CORE as one account per user, `PANEL:panel_1`. The server checks what a user publishes
on, but not where it wants the answer, and an answer enters the asker's account as if someone there had published it.
In an account shared by two queues, a worker that names its colleague's pull subject as the place for its own turn
draws that colleague's turns (tried: it works). In an account of its own it finds nothing there but its own rights.

Two fences stand one behind the other: the account's imports name channel and author, and so does the user's allow
list. Live text goes from the speaker's account straight to those of the readers, and experts'
announcements to helpers'. Allow lists only, no deny lists. Answers come to one inbox prefix per user.

Not exported: nats micro's `$SRV` subjects, whose listing names every service of CORE; moderators can use it among
themselves.
"""

import json
import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import nkeys

from bus import channels, subjects
from bus.errors import BadKeyFile, BadTable
from schemas.expert import ROLE, expert_of

SYS = "SYS"
MODERATOR, CLIENT, OWNER, AGENT, OPERATOR = "moderator", "client", "owner", "agent", "operator"
KINDS = (MODERATOR, CLIENT, OWNER, AGENT, OPERATOR)
MAX_PAYLOAD = 8 * 1024 * 1024
TOKEN_KEY_BYTES = 32


class User(msgspec.Struct, frozen=True, kw_only=True):
    """One row, one credential. Its name is the author that the broker pins; an agent's name is its queue.

    `account` is the group of the tables in `bus.channels`; see `broker_account`.
    """

    name: str
    kind: str
    account: str
    queue: str = ""
    role: str = ""
    """An agent's: the one that it may announce itself in."""
    pin: str = ""
    """An expert's: of the specification that it may announce itself with (schemas.expert.pin)."""

    def __post_init__(self) -> None:
        if not self.name:
            raise BadTable("a user needs a name")
        if self.kind not in KINDS:
            raise BadTable(f"user {self.name!r}: kind {self.kind!r}, known are " + ", ".join(KINDS))
        if not (self.kind == AGENT) == bool(self.queue) == bool(self.role):
            raise BadTable(f"user {self.name!r}: an agent, and nobody else, has a queue and a role")
        is_expert = self.role == ROLE and bool(expert_of(self.queue))
        if is_expert != bool(self.pin):
            why = "needs the pin of its specification (parley experts enroll SPEC)" if is_expert else "has no pin"
            raise BadTable(f"user {self.name!r}: it {why}")

    @property
    def inbox_prefix(self) -> str:
        """Where answers to this user arrive; nobody else may subscribe there."""
        return "_INBOX_" + subjects.escape(self.name)


class Credentials(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one process needs to connect as one user. Its text never shows the seed."""

    user: str
    kind: str
    account: str
    queue: str = ""
    role: str = ""
    pin: str = ""
    seed: str
    inbox_prefix: str

    def __repr__(self) -> str:
        return f"Credentials(user={self.user!r}, kind={self.kind!r}, account={self.account!r}, seed=...)"

    __str__ = __repr__

    @property
    def public(self) -> str:
        """The public key, which the server knows this user by."""
        return public_key(self.seed)

    @property
    def row(self) -> User:
        """The row of the table that these are for. Raises BadTable where it cannot stand there."""
        return User(
            name=self.user, kind=self.kind, account=self.account, queue=self.queue, role=self.role, pin=self.pin
        )

    def save(self, path: Path) -> None:
        """Write as JSON, readable by its owner only (mode 600)."""
        write_private(path, msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")


def public_key(seed: str) -> str:
    """Public key of an nkey seed.

    Raises
    ------
    BadTable
        It is not a seed; the text does not repeat it.
    """
    try:
        return str(nkeys.from_seed(bytearray(seed.encode())).public_key.decode())
    except (nkeys.NkeysError, ValueError, IndexError):
        raise BadTable("not an nkey seed") from None


def write_private(path: Path, data: bytes) -> None:
    """Replace a file at once, with mode 600 from its first moment."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    draft.replace(path)


def rewrite_private(path: Path, data: bytes) -> None:
    """Write a file anew, with mode 600, and keep it the same file: a container that has it mounted sees the change."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadKeyFile(str(path), error.strerror or "cannot be read") from None


def load_credentials(path: Path) -> Credentials:
    """Read a credentials file.

    Raises
    ------
    BadKeyFile
        Absent, unreadable, not of this form, or without a usable key. The text never repeats the content.
    """
    try:
        found = msgspec.json.decode(_read(path), type=Credentials)
    except msgspec.DecodeError as error:
        raise BadKeyFile(str(path), f"not a credentials file ({error})") from None
    try:
        public_key(found.seed)
    except BadTable as error:
        raise BadKeyFile(str(path), str(error)) from None
    return found


def new_token_key(path: Path) -> bytes:
    """Make the key by which moderators make turn tokens: 32 random bytes, mode 600."""
    key = secrets.token_bytes(TOKEN_KEY_BYTES)
    write_private(path, key.hex().encode() + b"\n")
    return key


def load_token_key(path: Path) -> bytes:
    """Read the moderators' key, 32 bytes.

    Raises
    ------
    BadKeyFile
        Absent, unreadable, or not 32 bytes in hex.
    """
    try:
        key = bytes.fromhex(_read(path).decode("ascii"))
    except ValueError:
        raise BadKeyFile(str(path), "not a token key: wanted are hex digits") from None
    if len(key) != TOKEN_KEY_BYTES:
        raise BadKeyFile(str(path), f"a token key of {len(key)} bytes, wanted are {TOKEN_KEY_BYTES}")
    return key


def table(
    queues: Mapping[str, str],
    *,
    moderators: Iterable[str] = ("moderator",),
    clients: Iterable[str] = ("client",),
    owners: Iterable[str] = ("owner",),
    pins: Mapping[str, str] | None = None,
) -> tuple[User, ...]:
    """The rows for these queues (queue -> role; an expert's also -> pin) and these names.

    Raises
    ------
    BadTable
        A role that has no account, an expert without a pin, or a name that stands twice.
    """
    rows = [User(name="operator", kind=OPERATOR, account=SYS)]
    rows += [User(name=name, kind=MODERATOR, account=channels.CORE) for name in moderators]
    rows += [User(name=name, kind=CLIENT, account=channels.CLIENTS) for name in clients]
    rows += [User(name=name, kind=OWNER, account=channels.CLIENTS) for name in owners]
    for queue, role in queues.items():
        account = channels.ACCOUNT_OF_ROLE.get(role)
        if account is None:
            known = ", ".join(sorted(channels.ACCOUNT_OF_ROLE))
            raise BadTable(f"queue {queue!r}: role {role!r} has no account, known are {known}")
        pin = (pins or {}).get(queue, "")
        rows.append(User(name=queue, kind=AGENT, account=account, queue=queue, role=role, pin=pin))
    return tuple(rows)


def mint(users: Iterable[User]) -> dict[str, Credentials]:
    """Fresh credentials for every user, by name."""
    return {
        u.name: Credentials(
            user=u.name,
            kind=u.kind,
            account=u.account,
            queue=u.queue,
            role=u.role,
            pin=u.pin,
            seed=nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER).decode(),
            inbox_prefix=u.inbox_prefix,
        )
        for u in users
    }


def publics(keys: Mapping[str, Credentials]) -> dict[str, str]:
    """User -> public key: all that a server configuration needs of them."""
    return {name: c.public for name, c in keys.items()}


# -- what each row may do


def _writable(account: str) -> list[str]:
    return [c.name for c in channels.CHANNELS.values() if account in c.writers]


def next_subject(queue: str) -> str:
    """Where a queue's next turns are asked for.

    The server remembers each question for as long as the inbox that it named is subscribed (0.7 kB each, measured): who
    pulls for long takes a new inbox every thousand pulls or so.
    """
    return f"$JS.API.CONSUMER.MSG.NEXT.WORK.{subjects.consumer(queue)}"


def _acks(queue: str) -> str:
    return f"$JS.ACK.WORK.{subjects.consumer(queue)}.>"


def _services(user: User) -> dict[str, str]:
    """Subjects of CORE that the user may ask on -> how many answers one question has (Singleton or Stream)."""
    asked: list[str] = []
    for name in channels.readable_by(user.account):
        asked += [subjects.read_of(name), subjects.doc_of(name)]
    for name in _writable(user.account):
        if name == channels.CLIENT:
            asked += [subjects.inbox_by(name, user.name), subjects.fate_by(name, user.name)]
        elif user.kind == AGENT:
            asked += [subjects.say_by(name, user.name), subjects.check_by(name, user.name)]
    if user.account in channels.WITH_ARTIFACTS:
        asked += [subjects.put_by(channels.stores_on(user.account), user.name), subjects.get_of(channels.PUBLIC)]
    if user.kind == OWNER:
        asked += [
            subjects.own_by(user.name),
            subjects.inbox_by(channels.OWNER, user.name),
            subjects.fate_by(channels.OWNER, user.name),
        ]
    if user.kind == AGENT:
        asked += [subjects.here(user.role, user.queue, user.pin), _acks(user.queue)]
    found = dict.fromkeys(asked, "Singleton")
    if user.kind == AGENT:
        found[next_subject(user.queue)] = "Stream"
    return found


def _live(user: User) -> list[str]:
    """Subjects on which the user speaks straight to others: live text, a helper's call for experts."""
    if user.kind != AGENT:
        return []
    call = [subjects.CALL] if user.role in channels.MATCHING else []
    return [*call, *(subjects.live_by(name, user.name) for name in _writable(user.account))]


def _heard(user: User) -> list[str]:
    """Streams of CORE that the user may hear."""
    heard = [subjects.channel_all(name) for name in channels.readable_by(user.account)]
    return [*heard, subjects.CALL] if user.kind == AGENT else heard


def permissions(user: User, users: Iterable[User] = ()) -> dict[str, Any]:
    """The user's allow lists, as nats-server wants them. `users` is the table: moderators answer one another."""
    inbox = f"{user.inbox_prefix}.>"
    if user.kind == OPERATOR:
        return {"publish": {"allow": ["$SYS.REQ.>"]}, "subscribe": {"allow": ["$SYS.>", inbox]}}
    if user.kind == MODERATOR:
        inboxes = [f"{u.inbox_prefix}.>" for u in users if u.kind == MODERATOR] or [inbox]
        everything = [subjects.ALL, "$JS.API.>", "$SRV.>"]
        return {
            "publish": {"allow": [*everything, "$JS.ACK.>", "_R_.>", *inboxes]},
            "subscribe": {"allow": [subjects.ALL, "$SRV.>", inbox]},
        }
    live = [subjects.live_all(name) for name in channels.heard_live(user.account)]
    live += [subjects.here_of(ROLE)] if user.role in channels.MATCHING else []
    return {
        "publish": {"allow": [*_services(user), *_live(user)]},
        "subscribe": {"allow": [inbox, *_heard(user), *live]},
    }


# -- what crosses between accounts


Grants = dict[tuple[str, str, str], set[str]]
"""(exporting account, kind of export, subject) -> importing accounts."""


def broker_account(user: User) -> str:
    """The account that the broker keeps this user in: its group's in CORE and SYS, else one of its own."""
    return user.account if user.account in (channels.CORE, SYS) else f"{user.account}:{subjects.escape(user.name)}"


def asker(headers: Mapping[str, str] | None) -> str:
    """The account that a request for history or documents came from, as the server says; empty inside CORE.

    The server writes this header itself, over whatever the asker put there.
    """
    said = (headers or {}).get("Nats-Request-Info")
    if not said:
        return ""
    try:
        return msgspec.json.decode(said, type=_Info).acc
    except (msgspec.DecodeError, UnicodeError):
        return ""


class _Info(msgspec.Struct):
    acc: str = ""


def _grants(users: Iterable[User]) -> Grants:
    """What crosses between accounts; kinds of export are Singleton and Stream (services), and heard (a stream)."""
    rows = [u for u in users if u.account not in (channels.CORE, SYS)]
    listeners: dict[str, list[User]] = {}
    for user in rows:
        for name in channels.heard_live(user.account):
            listeners.setdefault(name, []).append(user)
    found: Grants = {}
    for user in rows:
        mine = broker_account(user)
        for subject, answers in _services(user).items():
            found.setdefault((channels.CORE, answers, subject), set()).add(mine)
        for subject in _heard(user):
            found.setdefault((channels.CORE, "heard", subject), set()).add(mine)
        for name in _writable(user.account) if user.kind == AGENT else ():
            ears = {broker_account(u) for u in listeners.get(name, ())} - {mine}
            if ears:
                found[mine, "heard", subjects.live_by(name, user.name)] = ears
    # Straight, too: what reached CORE from another account, the server hands on to no third.
    experts, matching = ([u for u in rows if u.pin], [u for u in rows if u.role in channels.MATCHING])
    for user in experts if matching else ():
        announced = subjects.here(user.role, user.queue, user.pin)
        found[broker_account(user), "heard", announced] = {broker_account(u) for u in matching}
    for user in matching if experts else ():
        found[broker_account(user), "heard", subjects.CALL] = {broker_account(u) for u in experts}
    return found


def _check(users: tuple[User, ...], keys: Mapping[str, str]) -> None:
    seen: set[str] = set()
    for user in users:
        if user.name in seen:
            raise BadTable(f"two users are called {user.name!r}")
        if user.name not in keys:
            raise BadTable(f"user {user.name!r} has no key")
        seen.add(user.name)


def _accounts(users: tuple[User, ...], keys: Mapping[str, str]) -> dict[str, Any]:
    named = sorted({channels.CORE, SYS, *map(broker_account, users)})
    accounts: dict[str, Any] = {name: {"users": [], "exports": [], "imports": []} for name in named}
    accounts[channels.CORE]["jetstream"] = "enabled"
    for user in users:
        row = {"nkey": keys[user.name], "permissions": permissions(user, users)}
        accounts[broker_account(user)]["users"].append(row)
    told = {of(name) for name in channels.CHANNELS for of in (subjects.read_of, subjects.doc_of, subjects.get_of)}
    """History, documents and artifacts name no author: there the server tells moderators who asks (`asker`)."""
    for (owner, kind, subject), importers in sorted(_grants(users).items()):
        sort = "stream" if kind == "heard" else "service"
        export: dict[str, Any] = {sort: subject, "accounts": sorted(importers)}
        if sort == "service":
            export["response_type"] = kind
        accounts[owner]["exports"].append(export)
        for account in sorted(importers):
            taken: dict[str, Any] = {sort: {"account": owner, "subject": subject}}
            if subject in told:
                taken["share"] = True
            accounts[account]["imports"].append(taken)
    return accounts


def render(
    users: Iterable[User],
    keys: Mapping[str, str],
    *,
    store_dir: Path | str,
    host: str = "127.0.0.1",
    port: int = 4222,
    max_payload: int = MAX_PAYLOAD,
    sync_always: bool = False,
    extra: Mapping[str, Any] | None = None,
) -> str:
    """The nats-server configuration for these users (JSON, which nats-server reads).

    Parameters
    ----------
    keys
        User -> public key; no secret stands in a server's configuration.
    store_dir
        JetStream's folder.
    port
        -1: the server picks one.
    max_payload
        Bytes.
    sync_always
        Every write reaches the disk before it is acknowledged: survives power loss, about 40 times slower.
    extra
        Further top-level settings.

    Raises
    ------
    BadTable
        Two users of one name, or a user without a key.
    """
    rows = tuple(users)
    _check(rows, keys)
    jetstream: dict[str, Any] = {"store_dir": str(store_dir)}
    if sync_always:
        jetstream["sync_interval"] = "always"
    config: dict[str, Any] = {
        "server_name": "parley",
        "host": host,
        "port": port,
        "max_payload": max_payload,
        "max_pending": max(64 * 1024 * 1024, 2 * max_payload),
        "jetstream": jetstream,
        "system_account": SYS,
        "accounts": _accounts(rows, keys),
        **(extra or {}),
    }
    return json.dumps(config, indent=2) + "\n"
