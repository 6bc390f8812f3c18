"""The streams and the consumers, made and kept as they should be.

| stream | retention | for |
|---|---|---|
| LOG | by age | every session's transitions |
| IN | work queue | submissions of clients, timers and humans; at most `IN_PER_SUBJECT` waiting under one subject |
| INNER | work queue, one day | what sessions say to each other: moderators alone write, with ids of their own |
| WORK | work queue, one day | turns |
| TIMER | one message a subject | schedules, and what they make: fired timers |
| ASIDE | the last `ASIDE_MESSAGES` | what could not be handled |
| ARTIFACTS | by age, as LOG; one message a subject, never another | objects by the hash of their content |
| INDEX | by age, as LOG; the last message of a subject | one row a session, for lists |
| OUTCOMES | the last message | the totals of all sessions, by whom they are counted (parley.coordinator.outcomes) |

A timer is a message on `subjects.timer(sid)` with the headers `Nats-Schedule: @at <RFC 3339>` and
`Nats-Schedule-Target: subjects.fired(sid)`. Publishing again replaces it, purging its subject cancels it. When it is
due the server stores a message on the target, which moderators pull from TIMER itself. (A stream that sources another
one may take it up 10 s after a start of the server: it waits so long if it was there first.) Nobody but the moderators
can publish on TIMER's subjects, and IN, which others write to, takes no rollup, no schedule and no time to live: a
writer's headers can reach nothing but its own message.

Requests are spelt out in JSON: the client's configuration classes do not know every field.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Any, Literal

from parley.bus import subjects
from parley.bus.connection import Connection
from parley.bus.errors import ApiError, NoAnswer, NotMet
from parley.bus.log import LOG
from parley.bus.pending_requests import PubAck
from parley.bus.storage.direct import erase
from parley.bus.storage.disk import SIGNS
from parley.bus.storage.index import INDEX, WHOLE
from parley.schemas.session import TimerDue
from parley.schemas.wire import encode

IN, INNER, WORK, TIMER, ASIDE, ARTIFACTS = "IN", "INNER", "WORK", "TIMER", "ASIDE", "ARTIFACTS"
OUTCOMES = "OUTCOMES"
STREAMS = (LOG, TIMER, IN, INNER, WORK, ASIDE, ARTIFACTS, INDEX, OUTCOMES)
MODERATORS = "moderators"
"""The consumers of IN, of INNER, and of TIMER's fired timers, which all moderators share."""

DAY_S = 86_400.0
IN_PER_SUBJECT = 100
IN_MESSAGES = 5_000
IN_BYTES = (2**30, 2**28, 2**26, 2**24)
"""Bytes that may wait in IN altogether; the first that the server's store has room for counts: one author can name as
many sessions as it likes. A moderator takes some 2,500 messages a second, and a client that is refused for want of room
asks again. The server sets these bytes aside."""
ASIDE_MESSAGES = 10_000
LOG_MAX_AGE_S = 90 * DAY_S
"""How long a session's log is kept, unless a setting says otherwise."""
DEDUPLICATION_S = 120.0
LEAST_DEDUPLICATION_S = 0.1
"""Window of streams whose messages have no id: the least that the server takes. At its start the server reads all
messages of this window again, which tripled its start after many writes (2.15.1, measured)."""
ACK_WAIT_S = 8.0
MAX_ACK_PENDING = 100_000
MAX_WAITING = 4_096
_ALREADY = 10058
"""err_code: the stream exists with another configuration."""
_ABSENT = 10059
"""err_code: there is no such stream."""
_NO_STORAGE = 10047
"""err_code: the server's store cannot set so much room aside."""
_NO_PEERS = 10005
"""err_code: too few servers of the cluster could take the stream."""
UNAVAILABLE = 10008
"""err_code: the cluster has no leader now."""
REPLICAS = 3
"""Servers of a cluster on which a stream lies: one of them may be lost."""
MEET_S = 30.0
"""Seconds that the servers of a starting cluster may take to find each other and to choose leaders."""
_MEET_PAUSE_S = 0.25
_DUE = encode(TimerDue())
_LOGGER = logging.getLogger(__name__)

Storage = Literal["file", "memory"]


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)


def stream_configs(
    *,
    log_max_age_s: float = LOG_MAX_AGE_S,
    storage: Storage = "file",
    in_bytes: int = IN_BYTES[0],
    replicas: int = 1,
) -> dict[str, dict[str, Any]]:
    """Stream -> its configuration as JetStream wants it. `log_max_age_s` 0 keeps logs for ever; `in_bytes`: of IN."""
    common = {
        "storage": storage,
        "num_replicas": replicas,
        "duplicate_window": _ns(min(DEDUPLICATION_S, log_max_age_s) if log_max_age_s else DEDUPLICATION_S),
    }
    rows: dict[str, dict[str, Any]] = {
        LOG: {
            "subjects": [subjects.log.under],
            "retention": "limits",
            "max_age": _ns(log_max_age_s),
            "duplicate_window": _ns(LEAST_DEDUPLICATION_S),
            "allow_direct": True,
        },
        TIMER: {
            "subjects": [subjects.timer.each, subjects.fired.each],
            "retention": "limits",
            "max_msgs_per_subject": 1,
            "allow_msg_schedules": True,
            "allow_msg_ttl": True,
            "allow_rollup_hdrs": True,
        },
        IN: {
            "subjects": [subjects.inbox.under],
            "retention": "workqueue",
            "max_msgs_per_subject": IN_PER_SUBJECT,
            "max_msgs": IN_MESSAGES,
            "max_bytes": in_bytes,
            "discard": "new",
            "discard_new_per_subject": True,
        },
        INNER: {"subjects": [subjects.inner.under], "retention": "workqueue", "max_age": _ns(DAY_S)},
        WORK: {"subjects": [subjects.work.under], "retention": "workqueue", "max_age": _ns(DAY_S)},
        ASIDE: {
            "subjects": [subjects.aside.each],
            "retention": "limits",
            "max_msgs": ASIDE_MESSAGES,
            "allow_direct": True,
        },
        ARTIFACTS: {
            "subjects": [subjects.artifact.each],
            "retention": "limits",
            "duplicate_window": _ns(LEAST_DEDUPLICATION_S),
            "max_age": _ns(log_max_age_s),
            "max_msgs_per_subject": 1,
            "discard": "new",
            "discard_new_per_subject": True,
            "allow_direct": True,
        },
        INDEX: {
            "subjects": [subjects.index.under],
            "retention": "limits",
            "duplicate_window": _ns(LEAST_DEDUPLICATION_S),
            "max_age": _ns(log_max_age_s),
            "max_msgs_per_subject": 2,
            "allow_direct": True,
        },
        OUTCOMES: {
            "subjects": [subjects.OUTCOMES],
            "retention": "limits",
            "max_msgs_per_subject": 1,
            "allow_direct": True,
        },
    }
    return {name: {"name": name, **common, **rows[name]} for name in STREAMS}


async def ensure_streams(
    conn: Connection,
    *,
    log_max_age_s: float = LOG_MAX_AGE_S,
    storage: Storage = "file",
    ack_wait_s: float = ACK_WAIT_S,
    replicas: int = 0,
) -> None:
    """Make the streams and IN's consumer, or bring them up to this configuration. Repeating it is fine.

    Parameters
    ----------
    replicas
        On how many servers a stream that is made lies; 0: on REPLICAS of a cluster, on one of a single server. One
        that is there keeps what it has: `parley bus replicas` changes it. Consumers follow their stream.

    Raises
    ------
    ApiError
        JetStream refused, for instance to move a stream to another storage.
    NotMet
        A cluster was not ready to make streams within MEET_S: fewer servers were there than a stream needs.
    """
    if not conn.clustered:
        await _ensure_all(conn, log_max_age_s, storage, ack_wait_s, replicas or 1)
        return
    deadline = time.monotonic() + MEET_S
    while True:
        try:
            await _ensure_all(conn, log_max_age_s, storage, ack_wait_s, replicas or REPLICAS)
            return
        except (ApiError, NoAnswer) as error:
            soon = isinstance(error, NoAnswer) or error.err_code in (_NO_PEERS, UNAVAILABLE)
            if not soon:
                raise
            if time.monotonic() > deadline:
                raise NotMet(conn.nc.lacking, MEET_S) from error
            _LOGGER.info("the cluster makes no streams yet: %s", error)
            await asyncio.sleep(_MEET_PAUSE_S)


async def _ensure_all(
    conn: Connection,
    log_max_age_s: float,
    storage: Storage,
    ack_wait_s: float,
    replicas: int,
) -> None:
    complete = await _is_whole(conn)
    for in_bytes in IN_BYTES:
        configs = stream_configs(log_max_age_s=log_max_age_s, storage=storage, in_bytes=in_bytes, replicas=replicas)
        if complete:
            configs[INDEX]["metadata"] = dict(WHOLE)
        try:
            for name, config in configs.items():
                await _ensure_stream(conn, name, config)
            break
        except ApiError as error:
            if not _lacks_storage(error) or in_bytes == IN_BYTES[-1]:
                raise
            _LOGGER.info("IN is made smaller: %s", error)
    for stream, only in ((IN, None), (INNER, None), (TIMER, subjects.fired.each)):
        await _ensure_consumer(conn, stream, MODERATORS, only, ack_wait_s)


async def _is_whole(conn: Connection) -> bool:
    """Whether INDEX may say that no session is missing: it said so already, or it is being made while there is no
    session."""
    index = await stream_info(conn, INDEX)
    if index is None:
        log = await stream_info(conn, LOG)
        return log is None or not log["state"]["messages"]
    metadata = index["config"].get("metadata") or {}
    return all(metadata.get(key) == value for key, value in WHOLE.items())


async def stream_info(conn: Connection, stream: str) -> dict[str, Any] | None:
    """What JetStream says of a stream; None: there is none."""
    try:
        return await conn.api(f"STREAM.INFO.{stream}")
    except ApiError as error:
        if error.err_code != _ABSENT:
            raise
        return None


async def ensure_queue(conn: Connection, queue: str, *, ack_wait_s: float = ACK_WAIT_S) -> None:
    """Make the queue's consumer on WORK, or bring it up to this configuration. Repeating it is fine.

    `ack_wait_s`: silence after which a turn is handed out again; how often is limited by the turn's deadline alone.
    """
    await _ensure_consumer(conn, WORK, subjects.consumer(queue), subjects.work.of(queue=queue), ack_wait_s)


async def erase_session(conn: Connection, sid: str) -> None:
    """Overwrite and remove what every stream but LOG and INDEX has of one session. A repeat is harmless."""
    filters = (
        (WORK, subjects.work.of(session=sid)),
        (TIMER, subjects.timers_of(sid)),
        (IN, subjects.inbox.of(session=sid)),
        (INNER, subjects.inner.of(session=sid)),
        (ASIDE, subjects.aside(sid)),
        (ARTIFACTS, subjects.artifact.of(session=sid)),
    )
    for stream, only in filters:
        await erase(conn, stream, only)


def arm_timer(conn: Connection, sid: str, at_ns: int, msg_id: str) -> Awaitable[PubAck]:
    """Fire a session's timer at a Unix time in ns (good to about 250 ms), in place of any that it has, also after a
    kill: on its way when this returns, armed when what it returns is awaited."""
    at = datetime.fromtimestamp(at_ns / 1e9, UTC)
    headers = {
        "Nats-Schedule": "@at " + at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "Nats-Schedule-Target": subjects.fired(sid),
    }
    return conn.store(subjects.timer(sid), _DUE, msg_id=msg_id, headers=headers)


async def purge_timers(conn: Connection, sid: str) -> None:
    """Remove one session's timer, and what it made. A repeat is harmless."""
    await conn.api(f"STREAM.PURGE.{TIMER}", {"filter": subjects.timers_of(sid)})


async def purge_turns(conn: Connection, sid: str) -> None:
    """Remove one session's turns. A repeat is harmless."""
    await conn.api(f"STREAM.PURGE.{WORK}", {"filter": subjects.work.of(session=sid)})


async def _ensure_stream(conn: Connection, name: str, config: dict[str, Any]) -> None:
    """Make one stream, or bring it up to this configuration. Where the server has no room to set aside, a stream
    that is there stays as it is once it cannot be made smaller; on a full disk at once."""
    try:
        await conn.api(f"STREAM.CREATE.{name}", config)
        return
    except ApiError as error:
        if error.err_code != _ALREADY and not _lacks_storage(error):
            raise
        refused = error
    try:
        info = await stream_info(conn, name)
        if info is not None:
            config = {**config, "num_replicas": info["config"]["num_replicas"], **_kept(name, config, info["config"])}
        await conn.api(f"STREAM.UPDATE.{name}", config)
    except ApiError as error:
        if error.err_code == _ABSENT:
            raise refused from None
        too_large = _lacks_storage(error) and config.get("max_bytes", IN_BYTES[-1]) <= IN_BYTES[-1]
        if not too_large and not _is_full(error):
            raise
        _LOGGER.warning("stream %s stays as it is: %s", name, error)


def _kept(name: str, config: dict[str, Any], there: dict[str, Any]) -> dict[str, Any]:
    """The stream's age limit, where it is longer than this configuration's: a moderator that starts removes nothing."""
    wanted, existing = config.get("max_age", 0), there.get("max_age", 0)
    if not wanted or (existing and existing <= wanted):
        return {}
    if name == LOG:
        how_long = f"{existing / _ns(DAY_S):,.3g} days" if existing else "ever"
        _LOGGER.warning(
            "sessions are kept for %s, and the setting says %.3g days; parley bus retention shortens it",
            how_long,
            wanted / _ns(DAY_S),
        )
    return {"max_age": existing, "duplicate_window": there["duplicate_window"]}


async def _ensure_consumer(conn: Connection, stream: str, name: str, only: str | None, ack_wait_s: float) -> None:
    config: dict[str, Any] = {
        "durable_name": name,
        "ack_policy": "explicit",
        "deliver_policy": "all",
        "replay_policy": "instant",
        "ack_wait": _ns(ack_wait_s),
        "max_deliver": -1,
        "max_ack_pending": MAX_ACK_PENDING,
        "max_waiting": MAX_WAITING,
    }
    if only is not None:
        config["filter_subject"] = only
    try:
        await conn.api(f"CONSUMER.DURABLE.CREATE.{stream}.{name}", {"stream_name": stream, "config": config})
    except ApiError as error:
        if not _is_full(error):
            raise
        await conn.api(f"CONSUMER.INFO.{stream}.{name}")
        _LOGGER.warning("consumer %s stays as it is: %s", name, error)


def _lacks_storage(error: ApiError) -> bool:
    """Whether no server's store can set so much room aside; a cluster says this only in words."""
    return error.err_code == _NO_STORAGE or (error.err_code == _NO_PEERS and "insufficient storage" in error.text)


def _is_full(error: ApiError) -> bool:
    """Whether the server's disk is full. It still serves what it has, so its users need not end."""
    return any(sign.decode() in error.text for sign in SIGNS)
