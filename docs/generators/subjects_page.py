"""`docs/subjects.md`, as the server's rights are rendered: python -m docs.generators.subjects_page docs/subjects.md"""

import sys
from collections.abc import Iterable
from pathlib import Path

from parley.bus import accounts, channels, rights, subjects
from parley.bus.accounts import User
from parley.schemas.expert import ROLE, queue_of
from parley.schemas.session import human_queue

_HEAD = """# Subjects and rights

What stands on which subject, and who may publish and subscribe there. `make api` makes this page from
`bus/subjects.py` and `bus/rights.py`, and a test checks that it is current. [The bus](bus.md) says what holds it
together.

## Subjects

"""
_RIGHTS = """
## Rights

The broker enforces these lists. NAME is the user's name, QUEUE its queue, OTHER a client whose sessions it was
granted; `{a,b}` stands for one of several words. Each user also subscribes to the inbox of its own name. Moderators may
use everything of Parley and JetStream, operators the server's own `$SYS` subjects. A client's account imports subjects
under its own name only: what it calls `parley.read.public.SID`, moderators know as
`parley.of.NAME.read.public.SID`. Seats of the other team have `team_con` for `team_pro`.

| user | may publish | may subscribe |
|---|---|---|
"""


def page() -> str:
    """The whole page."""
    return _HEAD + _table(subjects.__doc__ or "") + _RIGHTS + "".join(_row(what, user) for what, user in _users())


def _table(text: str) -> str:
    return "".join(line + "\n" for line in text.splitlines() if line.startswith("|"))


def _users() -> Iterable[tuple[str, User]]:
    """One user of each kind, and one agent of each group that reads or writes something of its own."""
    clients, observers = channels.CLIENTS, channels.OBSERVERS
    yield "client", User(name="NAME", kind=accounts.CLIENT, account=clients)
    yield "client that was granted sessions", User(name="NAME", kind=accounts.CLIENT, account=clients, reads=("OTHER",))
    everybody = (accounts.EVERYBODY,)
    yield "viewer of all sessions", User(name="NAME", kind=accounts.VIEWER, account=clients, reads=everybody)
    yield "owner of the tenant", User(name="NAME", kind=accounts.OWNER, account=clients)
    for role in ("panelist", "pro", "judge", "analyst", "helper"):
        yield f"agent, {role}", _agent(channels.ACCOUNT_OF_ROLE[role], role, "QUEUE")
    yield "agent, expert", _agent(channels.EXPERTS, ROLE, queue_of("name"), pin="PIN")
    yield "a person's seat", _agent(channels.PANEL, "panelist", human_queue("NAME"))
    yield "observer", User(name="NAME", kind=accounts.OBSERVER, account=observers)
    yield "probe", User(name="NAME", kind=accounts.PROBE, account=observers)


def _agent(account: str, role: str, queue: str, pin: str = "") -> User:
    return User(name=queue, kind=accounts.AGENT, account=account, role=role, queue=queue, pin=pin)


def _row(what: str, user: User) -> str:
    allowed = rights.permissions(user)
    inbox = user.inbox_prefix
    cells = (
        "<br>".join(f"`{s}`" for s in _folded(s for s in allowed[way]["allow"] if not s.startswith(inbox)))
        for way in ("publish", "subscribe")
    )
    return f"| {what} | {' | '.join(cell or '-' for cell in cells)} |\n"


def _folded(found: Iterable[str]) -> list[str]:
    """Subjects that differ in their channel alone as one."""
    names: dict[tuple[str, str], list[str]] = {}
    for subject in found:
        parts = subject.split(".")
        at = next((i for i, part in enumerate(parts) if part in channels.CHANNELS and i), None)
        key = (subject, "") if at is None else (".".join(parts[:at]) + ".", "".join(f".{p}" for p in parts[at + 1 :]))
        names.setdefault(key, []).extend([] if at is None else [parts[at]])
    return [
        before + ("{" + ",".join(words) + "}" if len(words) > 1 else "".join(words)) + after
        for (before, after), words in names.items()
    ]


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
