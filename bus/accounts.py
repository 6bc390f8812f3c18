"""One table of users -> the nats-server configuration: who may say, hear and take what.

Every isolation that Parley promises is carried out by the broker, as this table is rendered for it. Who reads and
writes which channel is decided in `parley.bus.channels`. CORE holds JetStream and the
streams; the others have none, and see of CORE only what it exports to exactly them. Rows are users; the rest follows
from `parley.bus.channels` (which group reads and writes which channel), so a team is added by adding rows there.

| kind | group | may |
|---|---|---|
| moderator | CORE | everything of Parley and JetStream |
| client | CLIENTS | submit on IN in its own name, ask for its fate, read the channels of its own sessions |
| client with `reads` | CLIENTS | the same, and read the sessions of the clients named there; `*`: all of the tenant |
| viewer | CLIENTS | read what such a client reads, and submit nothing |
| owner | CLIENTS | read all sessions, ask for their list, for logs and living workers, and erase sessions |
| agent | of its queue's role | take its queue's turns, speak in its own name, read its channels, announce itself |
| observer | OBSERVERS | read LOG, look at streams and consumers, write the totals, ask in its own name |
| probe | OBSERVERS | ask who is alive, for health checks |
| operator | SYS | reload and monitor the server |

A person who takes a seat is an agent of the seat's role, on a queue of its own (parley.schemas.session.human_queue).
Processes of one person tell one another in the person's own account at which of them its turns wait. An expert
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

import os
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import nkeys

from parley.bus import channels, subjects
from parley.bus.errors import BadKeyFile, BadTable
from parley.bus.files.plain import read_plain
from parley.schemas.expert import ROLE, expert_of

SYS = "SYS"
MODERATOR, CLIENT, OWNER, AGENT, OPERATOR = "moderator", "client", "owner", "agent", "operator"
OBSERVER = "observer"
VIEWER, PROBE = "viewer", "probe"
EVERYBODY = "*"
"""In `User.reads`: the sessions of every client."""
KINDS = (MODERATOR, CLIENT, OWNER, AGENT, OPERATOR, OBSERVER, VIEWER, PROBE)
LIMITS = "limits.conf"
"""The name of the file with what owners may open, beside the keys."""
MAX_PAYLOAD = 16 * 1024 * 1024
_SHARED = ("kind", "account", "queue", "role", "pin", "reads")
"""Fields of a row that stand in its credentials too."""


class User(msgspec.Struct, frozen=True, kw_only=True):
    """One row, one credential. Its name is the author that the broker pins; an agent's name is its queue.

    `account` is the group of the tables in `parley.bus.channels`; see `broker_account`.
    """

    name: str
    kind: str
    account: str
    queue: str = ""
    role: str = ""
    """An agent's: the one that it may announce itself in."""
    pin: str = ""
    """An expert's: of the specification that it may announce itself with (parley.schemas.expert.pin)."""
    reads: tuple[str, ...] = ()
    """A client's or a viewer's: the clients whose sessions it reads beside its own; EVERYBODY: all of them."""

    def __post_init__(self) -> None:
        if not self.name:
            raise BadTable("a user needs a name")
        if self.reads and self.kind not in (CLIENT, VIEWER):
            raise BadTable(f"user {self.name!r}: only a client or a viewer is granted others' sessions (reads)")
        if self.kind == VIEWER and not self.reads:
            raise BadTable(f"user {self.name!r}: a viewer needs the clients whose sessions it reads (reads)")
        if "" in self.reads:
            raise BadTable(f"user {self.name!r}: reads names a client that has no name")
        if self.kind not in KINDS:
            raise BadTable(f"user {self.name!r}: kind {self.kind!r}, known: " + ", ".join(KINDS))
        if not (self.kind == AGENT) == bool(self.queue) == bool(self.role):
            raise BadTable(f"user {self.name!r}: an agent, and nobody else, has a queue and a role")
        is_expert = self.role == ROLE and bool(expert_of(self.queue))
        if is_expert != bool(self.pin):
            why = "needs the pin of its specification (parley experts enroll SPEC)" if is_expert else "has no pin"
            raise BadTable(f"user {self.name!r}: it {why}")

    @property
    def sees_all(self) -> bool:
        """Whether it reads the sessions of every owner: agents, owners, and clients that were granted it."""
        return self.account != channels.CLIENTS or self.kind == OWNER or EVERYBODY in self.reads

    @property
    def inbox_prefix(self) -> str:
        """Where answers to this user arrive; nobody else may subscribe there."""
        return "_INBOX_" + subjects.escape(self.name)


class Credentials(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one process needs to connect as one user. Its text never shows the seed. What is not set is not written."""

    user: str
    kind: str
    account: str
    queue: str = ""
    role: str = ""
    pin: str = ""
    reads: tuple[str, ...] = ()
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
        return User(name=self.user, **{field: getattr(self, field) for field in _SHARED})

    def save(self, path: Path) -> None:
        """Write as JSON, readable by its owner only (mode 600)."""
        write_private(path, msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")


def public_key(seed: str) -> str:
    """Public key of an nkey seed. Raises BadTable: it is not a seed; the text does not repeat it."""
    try:
        return str(nkeys.from_seed(bytearray(seed.encode())).public_key.decode())
    except (nkeys.NkeysError, ValueError, IndexError):
        raise BadTable("not an nkey seed") from None


def write_private(path: Path, data: bytes) -> None:
    """Replace a file at once, with mode 600 from its first moment."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)  # a full disk keeps the file that was there
        raise


def rewrite_private(path: Path, data: bytes) -> None:
    """Write a file anew, with mode 600, and keep it the same file: a container that has it mounted sees the change."""
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(data)


def read_file(path: Path) -> bytes:
    """The bytes of a file of keys. Raises BadKeyFile."""
    try:
        return read_plain(path)
    except OSError as error:
        raise BadKeyFile(str(path), error.strerror or "cannot be read") from None


def load_credentials(path: Path) -> Credentials:
    """Read a credentials file. Raises BadKeyFile: absent, unreadable, not of this form, or without a usable key. The
    text never repeats the content."""
    try:
        credentials = msgspec.json.decode(read_file(path), type=Credentials)
    except msgspec.DecodeError as error:
        raise BadKeyFile(str(path), f"not a credentials file ({error})") from None
    try:
        public_key(credentials.seed)
    except BadTable as error:
        raise BadKeyFile(str(path), str(error)) from None
    return credentials


def table(
    queues: Mapping[str, str],
    *,
    moderators: Iterable[str] = ("moderator",),
    clients: Iterable[str] = ("client",),
    owners: Iterable[str] = ("owner",),
    observers: Iterable[str] = (),
    viewers: Mapping[str, tuple[str, ...]] | None = None,
    probes: Iterable[str] = (),
    pins: Mapping[str, str] | None = None,
    readers: Mapping[str, tuple[str, ...]] | None = None,
) -> tuple[User, ...]:
    """The rows for these queues (queue -> role; an expert's also -> pin) and these names.

    `readers`: client -> the clients whose sessions it reads beside its own; one that is not in `clients` is added.
    `viewers`: the same of users who submit nothing. Raises BadTable: a role that has no account, an expert without a
    pin, or a name that stands twice.
    """
    rows = [User(name="operator", kind=OPERATOR, account=SYS)]
    rows += [User(name=name, kind=MODERATOR, account=channels.CORE) for name in moderators]
    grants = dict.fromkeys(clients, ()) | dict(readers or {})
    rows += [User(name=n, kind=CLIENT, account=channels.CLIENTS, reads=tuple(r)) for n, r in grants.items()]
    rows += [User(name=name, kind=OWNER, account=channels.CLIENTS) for name in owners]
    rows += [User(name=name, kind=OBSERVER, account=channels.OBSERVERS) for name in observers]
    rows += [User(name=n, kind=VIEWER, account=channels.CLIENTS, reads=r) for n, r in (viewers or {}).items()]
    rows += [User(name=name, kind=PROBE, account=channels.OBSERVERS) for name in probes]
    for queue, role in queues.items():
        account = channels.ACCOUNT_OF_ROLE.get(role)
        if account is None:
            roles = ", ".join(sorted(channels.ACCOUNT_OF_ROLE))
            raise BadTable(f"queue {queue!r}: role {role!r} has no account, known: {roles}")
        pin = (pins or {}).get(queue, "")
        rows.append(User(name=queue, kind=AGENT, account=account, queue=queue, role=role, pin=pin))
    return tuple(rows)


def mint(users: Iterable[User]) -> dict[str, Credentials]:
    """Fresh credentials for every user, by name."""
    return {
        u.name: Credentials(
            user=u.name,
            **{field: getattr(u, field) for field in _SHARED},
            seed=nkeys.encode_seed(secrets.token_bytes(32), nkeys.PREFIX_BYTE_USER).decode(),
            inbox_prefix=u.inbox_prefix,
        )
        for u in users
    }


def publics(keys: Mapping[str, Credentials]) -> dict[str, str]:
    """User -> public key: all that a server configuration needs of them."""
    return {name: c.public for name, c in keys.items()}
