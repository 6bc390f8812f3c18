"""Attacks on JetStream's API. Users outside CORE may only pull from their own queue; observers may also read LOG and
look at streams and consumers.

Every request here would work where the API is open. What it would change or take is the check's own, or the request
changes nothing: an update to what is there, a deletion that the server refuses for its form.
"""

import json
import secrets
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any

from parley.bus import accounts, rights, subjects
from parley.bus.errors import Denied
from tests.security.attacks.actor import Actor, Attack, worst
from tests.security.attacks.scene import HELD, LET_THROUGH, SUCCEEDED, Verdict, violation

API = "$JS.API."
_KEEP_NS = 5_000_000_000
_SETTLE = (("acknowledges", "+ACK"), ("hands back", "-NAK"), ("terminates", "+TERM"), ("keeps back", "+WPI"))


OBSERVED = (
    "gets a log entry directly", "gets a log entry directly, by sequence", "gets a log entry as a message",
    "gets the totals directly",
    "looks at the log stream", "counts the log's sessions", "lists consumers", "looks at the account",
    "counts what sessions tell each other", "counts a session's artifacts",
)  # fmt: skip
"""What observers are there for."""


def attacks(actor: Actor) -> Iterator[Attack]:
    """The attacks that this user tries."""
    granted = OBSERVED if actor.observer else ()
    for part in (_reading, _consumers, _streams, _looking, _destroying, _taking):
        yield from (attack for attack in part(actor) if attack[0] not in granted)


Try = Callable[[], Awaitable[Verdict]]


def _api(actor: Actor, suffix: str, body: object = None, wants: bytes = b"") -> Try:
    payload = b"" if body is None else json.dumps(body).encode()
    return lambda: actor.asks(API + suffix, payload, wants=wants)


def _reading(actor: Actor) -> Iterator[Attack]:
    scene = actor.scene
    secret = scene.secret
    planted = scene.planted
    at, subject = {"seq": planted.seq}, subjects.log(planted.sid, subjects.STEP)
    yield "gets a log entry directly", _api(actor, "DIRECT.GET.LOG", {"last_by_subj": subject}, secret)
    yield "gets a log entry directly, by subject", _api(actor, f"DIRECT.GET.LOG.{subject}", None, secret)
    yield "gets a log entry directly, by sequence", _api(actor, "DIRECT.GET.LOG", at, secret)
    yield "gets a log entry as a message", _api(actor, "STREAM.MSG.GET.LOG", at, secret)
    chunks = {"deliver_subject": actor.conn.nc.new_inbox(), "no_consumers": True}
    yield "copies the whole log", _api(actor, "STREAM.SNAPSHOT.LOG", chunks)
    turn = subjects.work_of_session(scene.beside("held"))
    yield "gets a stored turn", _api(actor, "STREAM.MSG.GET.WORK", {"seq": 1, "next_by_subj": turn}, secret)
    yield "gets what was put aside", _api(actor, "DIRECT.GET.ASIDE", {"seq": 1})
    yield "gets what one session told another", _api(actor, "STREAM.MSG.GET.INNER", {"seq": 1})
    object_ = subjects.artifact(planted.sid, "0" * 64)
    yield "gets an artifact directly", _api(actor, "DIRECT.GET.ARTIFACTS", {"last_by_subj": object_})
    yield "gets an artifact directly, by subject", _api(actor, f"DIRECT.GET.ARTIFACTS.{object_}")
    row = subjects.index("*", "*", scene.sid)
    yield "gets a session's row directly", _api(actor, "DIRECT.GET.INDEX", {"last_by_subj": row})
    yield "gets a session's row as a message", _api(actor, "STREAM.MSG.GET.INDEX", {"last_by_subj": row})
    yield "gets the totals directly", _api(actor, "DIRECT.GET.OUTCOMES", {"last_by_subj": subjects.OUTCOMES})
    yield "gets the totals as a message", _api(actor, "STREAM.MSG.GET.OUTCOMES", {"last_by_subj": subjects.OUTCOMES})


def _consumers(actor: Actor) -> Iterator[Attack]:
    """Consumers in every form, on the log and on turns."""
    scene = actor.scene
    inbox = actor.conn.nc.new_inbox()
    base: dict[str, Any] = {"ack_policy": "none", "deliver_policy": "all", "inactive_threshold": _KEEP_NS}
    sid = scene.planted.sid
    only = subjects.log_of(sid)
    ordered = {**base, "flow_control": True, "idle_heartbeat": _KEEP_NS, "mem_storage": True, "max_deliver": 1,
               "num_replicas": 1, "deliver_subject": inbox, "filter_subject": only}  # fmt: skip
    named = {**base, "name": "{name}"}
    grouped = {**named, "deliver_group": "g"}
    settled = {**named, "ack_policy": "explicit"}
    post = subjects.post(scene.fresh(), "public", "said")
    reply = subjects.say("any", "public", "somebody", scene.fresh())
    turn = subjects.work("nobody", scene.fresh(), "1")
    fired = subjects.inbox("timer", "timer", scene.fresh())
    inner = subjects.inner("somebody", scene.fresh())
    forms: dict[str, tuple[str, str, dict[str, Any]]] = {
        "a durable consumer": ("LOG", "DURABLE.CREATE.LOG.{name}", {**base, "durable_name": "{name}"}),
        "an ephemeral consumer": ("LOG", "CREATE.LOG", base),
        "a named consumer": ("LOG", "CREATE.LOG.{name}", named),
        "a filtered consumer": ("LOG", f"CREATE.LOG.{{name}}.{only}", {**named, "filter_subject": only}),
        "a consumer with several filters": ("LOG", "CREATE.LOG.{name}", {**named, "filter_subjects": [only]}),
        "a push consumer": ("LOG", "CREATE.LOG.{name}", {**named, "deliver_subject": inbox}),
        "a push consumer with a queue group": ("LOG", "CREATE.LOG.{name}", {**grouped, "deliver_subject": inbox}),
        "an ordered consumer": ("LOG", "CREATE.LOG", ordered),
        "a consumer that delivers to a channel": ("LOG", "CREATE.LOG.{name}", {**named, "deliver_subject": post}),
        "a consumer that delivers as a reply": ("LOG", "CREATE.LOG.{name}", {**named, "deliver_subject": reply}),
        "a consumer of what was put aside": ("ASIDE", "CREATE.ASIDE.{name}", named),
        "a consumer of timers": ("TIMER", "CREATE.TIMER.{name}", named),
        "a consumer of turns": ("WORK", "CREATE.WORK.{name}", {**settled, "filter_subject": turn}),
        "a consumer of submissions": ("IN", "CREATE.IN.{name}", {**settled, "filter_subject": fired}),
        "a consumer of what sessions tell each other": (
            "INNER",
            "CREATE.INNER.{name}",
            {**settled, "filter_subject": inner},
        ),
        "a consumer of sessions' rows": ("INDEX", "CREATE.INDEX.{name}", named),
        "a consumer of artifacts": ("ARTIFACTS", "CREATE.ARTIFACTS.{name}", named),
    }
    for what, (stream, suffix, config) in forms.items():
        name = f"check-{secrets.token_hex(4)}"
        filled = {k: name if v == "{name}" else v for k, v in config.items()}
        scene.left_over(f"CONSUMER.DELETE.{stream}.{name}")
        body = {"stream_name": stream, "config": filled}
        yield f"makes {what}", _api(actor, "CONSUMER." + suffix.format(name=name), body)
    changed = [*actor.victims(accounts.AGENT)[:1], *([actor.user] if actor.agent else [])]
    for user in changed:
        consumer = subjects.consumer(user.user)
        whose = "its own consumer" if user is actor.user else f"the consumer of {user.user}"
        yield f"changes {whose}", partial(_change, actor, consumer)
        yield f"wakes {whose}", _api(actor, f"CONSUMER.PAUSE.WORK.{consumer}", {})
        yield f"looks at {whose}", _api(actor, f"CONSUMER.INFO.WORK.{consumer}")


async def _change(actor: Actor, consumer: str) -> Verdict:
    """Changes it to the state that it has already, so that a success does no harm."""
    config = (await actor.scene.referee.api(f"CONSUMER.INFO.WORK.{consumer}"))["config"]
    body = json.dumps({"stream_name": "WORK", "config": config}).encode()
    return await actor.asks(API + f"CONSUMER.DURABLE.CREATE.WORK.{consumer}", body)


def _streams(actor: Actor) -> Iterator[Attack]:
    scene = actor.scene
    foreign = (actor.foreign() or ["public"])[0]
    configs: dict[str, dict[str, Any]] = {
        "mirrors the log": {"mirror": {"name": "LOG"}},
        "sources the log": {"sources": [{"name": "LOG"}]},
        "sources turns": {"sources": [{"name": "WORK"}]},
        "mirrors what sessions tell each other": {"mirror": {"name": "INNER"}},
        "sources what sessions tell each other": {"sources": [{"name": "INNER"}]},
        "mirrors sessions' rows": {"mirror": {"name": "INDEX"}},
        "mirrors artifacts": {"mirror": {"name": "ARTIFACTS"}},
        "keeps what is told to the owners of sessions": {
            "subjects": [subjects.owned("*", subjects.channel_all("public"))],
        },
        f"keeps {foreign} in a stream": {"subjects": [subjects.channel_all(foreign)]},
        "has posts published again": {
            "subjects": [subjects.channel(scene.fresh(), "public")],
            "republish": {"src": ">", "dest": actor.conn.nc.new_inbox()},
        },
    }
    for what, config in configs.items():
        name = f"CHECK_{secrets.token_hex(4)}"
        scene.left_over(f"STREAM.DELETE.{name}")
        yield what, _api(actor, f"STREAM.CREATE.{name}", {"name": name, "storage": "memory", **config})
    yield "changes a stream", partial(_update, actor, "LOG")


async def _update(actor: Actor, stream: str) -> Verdict:
    """Changes it to the state that it has already, so that a success does no harm."""
    config = (await actor.scene.referee.api(f"STREAM.INFO.{stream}"))["config"]
    return await actor.asks(API + f"STREAM.UPDATE.{stream}", json.dumps(config).encode())


def _looking(actor: Actor) -> Iterator[Attack]:
    yield "looks at the log stream", _api(actor, "STREAM.INFO.LOG")
    yield "counts the log's sessions", _api(actor, "STREAM.INFO.LOG", {"subjects_filter": subjects.LOG_ALL})
    yield "lists streams", _api(actor, "STREAM.LIST")
    yield "lists the names of streams", _api(actor, "STREAM.NAMES")
    yield "lists consumers", _api(actor, "CONSUMER.LIST.WORK")
    yield "lists the names of consumers", _api(actor, "CONSUMER.NAMES.WORK")
    yield "looks at moderators' consumer", _api(actor, "CONSUMER.INFO.IN.moderators")
    yield (
        "looks at the moderators' consumer of what sessions tell each other",
        _api(actor, "CONSUMER.INFO.INNER.moderators"),
    )
    yield (
        "counts what sessions tell each other",
        _api(actor, "STREAM.INFO.INNER", {"subjects_filter": subjects.INNER_ALL}),
    )
    yield (
        "counts a session's artifacts",
        _api(actor, "STREAM.INFO.ARTIFACTS", {"subjects_filter": subjects.ARTIFACT_ALL}),
    )
    yield "looks at the account", _api(actor, "INFO")


def _destroying(actor: Actor) -> Iterator[Attack]:
    scene = actor.scene
    of_log = subjects.log_of(scene.fresh())
    yield "purges a session's log", _api(actor, "STREAM.PURGE.LOG", {"filter": of_log})
    of_turns = subjects.work_of_session(scene.fresh())
    yield "purges turns", _api(actor, "STREAM.PURGE.WORK", {"filter": of_turns})
    yield "purges a timer", _api(actor, "STREAM.PURGE.TIMER", {"filter": subjects.timer(scene.fresh())})
    yield "purges submissions", _api(actor, "STREAM.PURGE.IN", {"filter": subjects.inbox_of_session(scene.fresh())})
    inner = {"filter": subjects.inner_of_session(scene.fresh())}
    yield "purges what was told to a session", _api(actor, "STREAM.PURGE.INNER", inner)
    yield "purges artifacts", _api(actor, "STREAM.PURGE.ARTIFACTS", {"filter": subjects.artifact_of(scene.fresh())})
    of_nobody = {"filter": subjects.index("*", "*", scene.fresh())}
    yield "purges a session's row", _api(actor, "STREAM.PURGE.INDEX", of_nobody)
    yield "purges the totals", _api(actor, "STREAM.PURGE.OUTCOMES", {"filter": subjects.index("*", "*", scene.fresh())})
    yield "deletes a log entry", partial(_delete, actor)
    for stream in (
        "LOG",
        "WORK",
        "IN",
        "INNER",
        "ARTIFACTS",
        "INDEX",
    ):  # a deletion that says anything is refused for its form, by whom it reaches
        yield f"deletes the stream {stream}", _api(actor, f"STREAM.DELETE.{stream}", {"not": "empty"})
    yield "deletes moderators' consumer", _api(actor, "CONSUMER.DELETE.IN.moderators", {"not": "empty"})
    yield (
        "deletes the moderators' consumer of what sessions tell each other",
        _api(actor, "CONSUMER.DELETE.INNER.moderators", {"not": "empty"}),
    )
    for victim in actor.victims(accounts.AGENT)[:1]:
        suffix = f"CONSUMER.DELETE.WORK.{subjects.consumer(victim.user)}"
        yield f"deletes the consumer of {victim.user}", _api(actor, suffix, {"not": "empty"})


async def _each(actor: Actor, ways: tuple[str, ...]) -> Verdict:
    """Others' turns, by each name that a pull has."""
    return worst([await actor.asks(subject, b"{") for subject in ways])


async def _delete(actor: Actor) -> Verdict:
    """An entry of the check's own."""
    sid = actor.scene.fresh()
    ack = await actor.scene.referee.store(subjects.log(sid, subjects.STEP), b"to be deleted")
    return await actor.asks(API + "STREAM.MSG.DELETE.LOG", json.dumps({"seq": ack.seq}).encode())


def _taking(actor: Actor) -> Iterator[Attack]:
    """Others' turns: asked for, and settled. A pull that is no JSON is answered, and takes nothing."""
    scene = actor.scene
    for victim in actor.others(accounts.AGENT):
        ways = (subjects.next_turns(victim.user), rights.next_subject(victim.user))
        yield f"takes turns of {victim.user}", partial(_each, actor, ways)
    yield "takes submissions", lambda: actor.asks(API + "CONSUMER.MSG.NEXT.IN.moderators", b"{")
    yield "takes what one session tells another", lambda: actor.asks(API + "CONSUMER.MSG.NEXT.INNER.moderators", b"{")
    subjects_told = ["$JS.ACK.INNER.moderators.1.999999999.999999999.0.0"]
    yield "settles what one session told another", _settles(actor, subjects_told, *(word for _, word in _SETTLE))
    submission = ["$JS.ACK.IN.moderators.1.999999999.999999999.0.0"]
    yield "settles a submission", _settles(actor, submission, *(word for _, word in _SETTLE))
    for victim in actor.others(accounts.AGENT):
        real = f"$JS.ACK.WORK.{subjects.consumer(victim.user)}.1.999999999.999999999.0.0"
        for what, word in _SETTLE:
            yield f"{what} a turn of {victim.user}", _settles(actor, [scene.held, real], word)
    yield "takes the next turn by settling another", lambda: _next(actor)


def _settles(actor: Actor, at: list[str], *words: str) -> Try:
    """Settle a turn that another holds: at the victim's subject, and one that the check really holds."""

    async def attack() -> Verdict:
        verdicts: list[Verdict] = []
        for subject in at:
            for word in words:
                verdicts.append(await actor.asks(subject, word.encode()))
                if verdicts[-1].outcome == SUCCEEDED:
                    return verdicts[-1]
        return worst(verdicts)

    return attack


async def _next(actor: Actor) -> Verdict:
    """There is a next one; it arrives under its own subject, not as an answer."""
    scene = actor.scene
    await scene.referee.store(subjects.work(HELD, scene.fresh(), "1"), scene.secret)
    inbox = actor.conn.nc.new_inbox()
    got: list[bytes] = []
    sub = await actor.conn.subscribe(inbox, lambda msg: got.append(msg.data))
    try:
        await actor.conn.publish(scene.held, b"+NXT", reply=inbox, confirm=True)
    except Denied as denied:
        return violation(denied)
    else:
        await scene.grace()
    finally:
        await sub.unsubscribe()
    if scene.secret in got:
        return Verdict(SUCCEEDED, "a turn came")
    return Verdict(LET_THROUGH, "the broker took it; no turn came")
