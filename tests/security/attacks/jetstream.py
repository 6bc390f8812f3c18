"""Attacks on JetStream's API. Users outside CORE may only pull from their own queue; observers may also read LOG and
look at streams and consumers.

What is asked has a form that JetStream refuses, so that it answers wherever the API is open and nothing is changed.
"""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from parley.bus import accounts, rights, streams, subjects
from parley.bus.errors import Denied
from tests.security.attacks.actor import Actor, Attack, worst
from tests.security.attacks.scene import HELD, LET_THROUGH, SUCCEEDED, Verdict, violation

API = "$JS.API."
_NO_JSON = b"{"
_SEQ = b'{"seq":1}'
_SETTLE = (("acknowledges", "+ACK"), ("hands back", "-NAK"), ("terminates", "+TERM"), ("keeps back", "+WPI"))
_NO_TURN = "1.999999999.999999999.0.0"
"""A delivery that no consumer made."""
OF_EACH_STREAM = {
    "looks at": "STREAM.INFO.{}", "gets a message of": "STREAM.MSG.GET.{}", "copies": "STREAM.SNAPSHOT.{}",
    "changes": "STREAM.UPDATE.{}", "purges": "STREAM.PURGE.{}", "deletes a message of": "STREAM.MSG.DELETE.{}",
    "deletes": "STREAM.DELETE.{}", "lists the consumers of": "CONSUMER.LIST.{}",
    "lists the names of the consumers of": "CONSUMER.NAMES.{}",
    "makes an ephemeral consumer of": "CONSUMER.CREATE.{}", "makes a named consumer of": "CONSUMER.CREATE.{}.check",
    "makes a durable consumer of": "CONSUMER.DURABLE.CREATE.{}.check",
    "makes a filtered consumer of": "CONSUMER.CREATE.{}.check.>",
}  # fmt: skip
OF_EACH_CONSUMER = {
    "looks at": "CONSUMER.INFO.{}", "changes": "CONSUMER.DURABLE.CREATE.{}", "wakes": "CONSUMER.PAUSE.{}",
    "deletes": "CONSUMER.DELETE.{}",
}  # fmt: skip
OF_THE_ACCOUNT = {
    "looks at the account": "INFO", "lists streams": "STREAM.LIST", "lists the names of streams": "STREAM.NAMES",
    "makes a stream": "STREAM.CREATE.CHECK",
}  # fmt: skip
READ_DIRECTLY = ("LOG", "ASIDE", "ARTIFACTS", "INDEX", "OUTCOMES")
OBSERVED = (
    "gets a message of LOG", "gets directly from LOG", "gets directly from OUTCOMES", "looks at the account",
    "lists the consumers of WORK", *(f"looks at {stream}" for stream in streams.STREAMS),
)  # fmt: skip
"""What observers are there for."""
Try = Callable[[], Awaitable[Verdict]]


def attacks(actor: Actor) -> Iterator[Attack]:
    """The attacks that this user tries."""
    granted = OBSERVED if actor.observer else ()
    for what, suffix, body in _requests(actor):
        if what not in granted:
            yield what, partial(actor.asks, API + suffix, body)
    yield from _taking(actor)


def _requests(actor: Actor) -> Iterator[tuple[str, str, bytes]]:
    """What is asked, where, and with what."""
    for stream in streams.STREAMS:
        for what, form in OF_EACH_STREAM.items():
            yield f"{what} {stream}", form.format(stream), _SEQ if "MSG.GET" in form else _NO_JSON
    for stream in READ_DIRECTLY:
        yield f"gets directly from {stream}", f"DIRECT.GET.{stream}", _SEQ
    entry = subjects.log(actor.scene.planted.sid, subjects.STEP)
    yield "gets directly from LOG, by subject", f"DIRECT.GET.LOG.{entry}", b""
    consumers = {"moderators' consumer": "IN.moderators", "moderators' consumer of INNER": "INNER.moderators"}
    for victim in actor.victims(accounts.AGENT)[:1]:
        consumers[f"the consumer of {victim.user}"] = f"WORK.{subjects.consumer(victim.user)}"
    if actor.agent:
        consumers["its own consumer"] = f"WORK.{subjects.consumer(actor.name)}"
    for whose, consumer in consumers.items():
        for what, form in OF_EACH_CONSUMER.items():
            yield f"{what} {whose}", form.format(consumer), _NO_JSON
    for what, suffix in OF_THE_ACCOUNT.items():
        yield what, suffix, _NO_JSON
    for whose in ("IN", "INNER"):
        yield f"takes messages of {whose}", f"CONSUMER.MSG.NEXT.{whose}.moderators", _NO_JSON


def _taking(actor: Actor) -> Iterator[Attack]:
    """Others' turns: asked for, and settled. A pull that is no JSON is answered, and takes nothing."""
    every = tuple(word for _, word in _SETTLE)
    for stream in ("IN", "INNER"):
        yield f"settles a message of {stream}", _settles(actor, [f"$JS.ACK.{stream}.moderators.{_NO_TURN}"], *every)
    for victim in actor.others(accounts.AGENT):
        ways = (subjects.next_turns(victim.user), rights.next_subject(victim.user))
        yield f"takes turns of {victim.user}", partial(_each, actor, ways)
        real = f"$JS.ACK.WORK.{subjects.consumer(victim.user)}.{_NO_TURN}"
        for what, word in _SETTLE:
            yield f"{what} a turn of {victim.user}", _settles(actor, [actor.scene.held, real], word)
    yield "takes the next turn by settling another", lambda: _next(actor)


async def _each(actor: Actor, ways: tuple[str, ...]) -> Verdict:
    """Others' turns, by each name that a pull has."""
    return worst([await actor.asks(subject, _NO_JSON) for subject in ways])


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
