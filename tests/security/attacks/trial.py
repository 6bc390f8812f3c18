"""All attacks, tried on a live bus as each of its users; a row for each. A row is good only if its attack was refused.
One that could not be tried is not."""

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence

from parley.bus import channels, connection
from parley.bus.accounts import Credentials
from parley.bus.errors import BusError
from parley.bus_admin.check import TRUSTED
from tests.security.attacks import answers, broker, owners, turns
from tests.security.attacks.actor import Actor
from tests.security.attacks.scene import NOT_RUN, CannotRun, Row, Scene, Verdict

_ONE_S = 20.0
_WORD = re.compile(r"[\w-]+")


async def trial(
    url: str,
    users: Mapping[str, Credentials],
    *,
    guess: Callable[[str], str] | None = None,
    only: Sequence[str] = (),
    pick: Callable[[str], bool] = lambda attack: True,
) -> list[Row]:
    """Try everything as everybody; the rows in the order of users and attacks. `guess`: session -> the id that this
    bus's users give to a submission; None: random, as Parley's are. `only`: users that attack; none: all but moderators
    and operators. `pick`: which attacks, by their words."""
    with _quiet():
        async with Scene(url, users, guess) as scene:
            names = [n for n, c in users.items() if c.kind not in TRUSTED and (not only or n in only)]
            rows = await asyncio.gather(*(_attacks(Actor(scene, name), pick) for name in sorted(names)))
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


async def _attacks(actor: Actor, pick: Callable[[str], bool]) -> list[Row]:
    rows = []
    for module in (broker, answers, turns, owners):
        for what, attack in module.attacks(actor):
            if not pick(what):
                continue
            verdict = await _tried(attack)
            rows.append(Row(who=actor.name, group=actor.group, attack=what, outcome=verdict.outcome, how=verdict.how))
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


def distinct(attacks: Iterable[str], users: Iterable[str]) -> frozenset[str]:
    """The different ones: at which user or channel an attack is aimed makes no other of it."""
    names = {*channels.CHANNELS, *users}
    return frozenset(_WORD.sub(lambda word: "…" if word[0] in names else word[0], attack) for attack in attacks)
