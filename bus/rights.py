"""What each row of the accounts' table may say and hear, and what crosses between the broker's accounts for it.

A client's account imports what stands under its own name (`subjects.owned`), and the broker renames it there to the
subject without the owner. Who sees all sessions imports the subjects without an owner. A client that was granted
another's sessions hears them among its own, and asks for history by the subject that names the owner.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from parley.bus import channels, subjects
from parley.bus.accounts import AGENT, CLIENT, MODERATOR, OBSERVER, OPERATOR, OWNER, PROBE, SYS, VIEWER, User
from parley.schemas.expert import ROLE


def writable(user: User) -> list[str]:
    """The channels that a user speaks on."""
    if user.kind == VIEWER:
        return []
    return [c.name for c in channels.CHANNELS.values() if c.is_written_by(user.account)]


def _acks(queue: str) -> str:
    return f"$JS.ACK.WORK.{subjects.consumer(queue)}.>"


class Crossing(NamedTuple):
    """One subject of CORE that a user's account imports."""

    kind: str
    """Singleton or Stream: questions, and how many answers each has; heard: posts."""
    subject: str
    """As CORE has it."""
    local: str
    """As the user's account has it: what the user may publish or subscribe to."""


def _read_by_observers() -> list[Crossing]:
    """LOG, as it is read directly and from its leader, and what JetStream says of the store, of streams and of queues.
    None of it changes anything."""
    several = ["$JS.API.DIRECT.GET.LOG", "$JS.API.DIRECT.GET.OUTCOMES"]
    singles = ["$JS.API.INFO", "$JS.API.STREAM.INFO.*", "$JS.API.CONSUMER.LIST.WORK"]
    singles.append("$JS.API.STREAM.MSG.GET.LOG")
    return [*(Crossing("Stream", s, s) for s in several), *(Crossing("Singleton", s, s) for s in singles)]


def _services(user: User) -> list[Crossing]:
    """Subjects of CORE that the user may ask on. The first two forms are those of history, documents and artifacts."""
    requests: list[str] = []
    notices: list[str] = []
    for name in channels.readable_by(user.account):
        notices += [subjects.read.of(channel=name), subjects.doc.of(channel=name)]
    if user.account in channels.WITH_ARTIFACTS:
        if user.kind != VIEWER:
            requests.append(subjects.put.of(channel=channels.stores_on(user.account), author=user.name))
        if user.kind == AGENT:
            requests.append(subjects.take.of(channel=channels.PUBLIC, author=user.name))
        else:
            notices.append(subjects.get.of(channel=channels.PUBLIC))
    for name in writable(user):
        if name == channels.CLIENT:
            requests += [
                subjects.inbox.of(channel=name, author=user.name),
                subjects.fate.of(channel=name, author=user.name),
            ]
        elif user.kind == AGENT:
            requests += [
                subjects.say.of(channel=name, author=user.name),
                subjects.check.of(channel=name, author=user.name),
            ]
    if user.kind in (CLIENT, VIEWER):
        mine = [subjects.own.of(what="mine", author=name) for name in dict.fromkeys((user.name, *user.reads))]
        requests += [subjects.own.of(what="sessions", author=user.name)] if user.sees_all else mine
    if user.kind == OWNER:
        requests += [
            subjects.own.of(author=user.name),
            subjects.inbox.of(channel=channels.OWNER, author=user.name),
            subjects.fate.of(channel=channels.OWNER, author=user.name),
        ]
    if user.kind == AGENT:
        requests += [subjects.here(user.role, user.queue, user.pin), _acks(user.queue)]
    if user.kind == OBSERVER:
        requests += [subjects.OUTCOMES, subjects.inbox.of(channel=channels.CLIENT, author=user.name)]
    if user.kind == PROBE:
        requests.append(subjects.own.of(what="workers", author=user.name))
    crossings = [Crossing("Singleton", subject, subject) for subject in requests]
    if user.kind == OBSERVER:
        crossings += _read_by_observers()
    if user.sees_all:
        crossings += [Crossing("Singleton", subject, subject) for subject in notices]
    else:
        for subject in notices:
            crossings.append(Crossing("Singleton", subjects.owned(user.name, subject), subject))
            owned = (subjects.owned(owner, subject) for owner in user.reads)
            crossings += [Crossing("Singleton", theirs, theirs) for theirs in owned]
    if user.kind == AGENT:
        turns = subjects.next_turns(user.queue)
        crossings.append(Crossing("Stream", turns, turns))
    return crossings


def _live(user: User) -> list[str]:
    """Subjects on which the user speaks straight to others: live text, a helper's call for experts."""
    if user.kind != AGENT:
        return []
    call = [subjects.CALL] if user.role in channels.MATCHING else []
    return [*call, *(subjects.live_owned.of(channel=name, author=user.name) for name in writable(user))]


def _heard(user: User) -> list[Crossing]:
    """Streams of CORE that the user may hear."""
    posts = [subjects.post.of(channel=name) for name in channels.readable_by(user.account)]
    if user.kind == AGENT:
        posts.append(subjects.CALL)
    if user.sees_all:
        return [Crossing("heard", subject, subject) for subject in posts]
    owners = (user.name, *user.reads)
    return [Crossing("heard", subjects.owned(o, subject), subject) for subject in posts for o in owners]


def _heard_live(user: User) -> list[str]:
    """Subjects of live text as the user's account has them."""
    names = channels.heard_live(user.account)
    if user.sees_all:
        return [subjects.live_owned.of(channel=name) for name in names]
    return [subjects.live.of(channel=name) for name in names]


def permissions(user: User, users: Iterable[User] = ()) -> dict[str, Any]:
    """The user's allow lists, as nats-server wants them. `users` is the table: moderators answer one another."""
    inbox = f"{user.inbox_prefix}.>"
    if user.kind == OPERATOR:
        return {"publish": {"allow": ["$SYS.REQ.>"]}, "subscribe": {"allow": ["$SYS.>", inbox]}}
    if user.kind == MODERATOR:
        inboxes = [f"{u.inbox_prefix}.>" for u in users if u.kind == MODERATOR] or [inbox]
        everything = [subjects.ALL, "$JS.API.>", "$SRV.>"]
        return {
            "publish": {"allow": [*everything, "$JS.ACK.>", "$JS.SNAPSHOT.>", "_R_.>", *inboxes]},
            "subscribe": {"allow": [subjects.ALL, "$SRV.>", inbox]},
        }
    live = _heard_live(user)
    live += [subjects.here.of(role=ROLE)] if user.role in channels.MATCHING else []
    return {
        "publish": {"allow": [*(c.local for c in _services(user)), *_live(user)]},
        "subscribe": {"allow": [inbox, *dict.fromkeys(c.local for c in _heard(user)), *live]},
    }


Grants = dict[tuple[str, str, str], dict[str, list[tuple[str, str]]]]
"""(exporting account, kind of export, subject) -> importing account -> (subject taken of it, as it is called there)."""


def broker_account(user: User) -> str:
    """The account that the broker keeps this user in: its group's in CORE and SYS, else one of its own."""
    return user.account if user.account in (channels.CORE, SYS) else f"{user.account}:{subjects.escape(user.name)}"


def asker(headers: Mapping[str, str] | None) -> str:
    """The account that a request for history or documents came from, as the server says; empty inside CORE.

    The server writes this header itself, over whatever the asker put there.
    """
    info = (headers or {}).get("Nats-Request-Info")
    if not info:
        return ""
    try:
        return msgspec.json.decode(info, type=_Info).acc
    except (msgspec.DecodeError, UnicodeError):
        return ""


class _Info(msgspec.Struct):
    acc: str = ""


def grants(users: Iterable[User]) -> Grants:
    """What crosses between accounts; kinds of export are Singleton and Stream (services), and heard (a stream)."""
    rows = [u for u in users if u.account not in (channels.CORE, SYS)]
    granted: Grants = {}

    def grant(exporter: str, kind: str, subject: str, to: User, taken: str = "", local: str = "") -> None:
        importers = granted.setdefault((exporter, kind, subject), {})
        importers.setdefault(broker_account(to), []).append((taken or subject, local or subject))

    for user in rows:
        for crossing in (*_services(user), *_heard(user)):
            grant(channels.CORE, crossing.kind, crossing.subject, user, local=crossing.local)
    listeners = {name: [u for u in rows if name in channels.heard_live(u.account)] for name in channels.CHANNELS}
    for user in rows:
        mine = broker_account(user)
        for name in writable(user) if user.kind == AGENT else ():
            local, spoken = (
                subjects.live.of(channel=name, author=user.name),
                subjects.live_owned.of(channel=name, author=user.name),
            )
            for ears in listeners[name]:
                if ears == user:
                    continue
                if ears.sees_all:
                    grant(mine, "heard", spoken, ears)
                    continue
                for owner in (ears.name, *ears.reads):
                    grant(
                        mine,
                        "heard",
                        spoken,
                        ears,
                        subjects.live_owned.of(channel=name, author=user.name, owner=owner),
                        local,
                    )
    # Straight, too: what reached CORE from another account, the server hands on to no third.
    experts, matching = ([u for u in rows if u.pin], [u for u in rows if u.role in channels.MATCHING])
    for user in experts:
        for ears in matching:
            grant(broker_account(user), "heard", subjects.here(user.role, user.queue, user.pin), ears)
            grant(broker_account(ears), "heard", subjects.CALL, user)
    return granted
