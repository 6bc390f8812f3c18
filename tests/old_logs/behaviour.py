"""What a protocol's version stands for: a digest over fixed walks through its worlds, and where it is kept.

python -m tests.old_logs.behaviour        writes behaviour.json; a protocol of the same version keeps its row
python -m tests.old_logs.behaviour NAME   also of the same version: where only the worlds of its walk have changed
"""

import hashlib
import json
import random
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from parley.coordinator.machine import Illegal, Protocol, Session, record, record_opening
from parley.coordinator.protocols import PROTOCOLS, STANDING
from parley.schemas import log
from parley.schemas.routing import TaskOutcome
from parley.schemas.wire import encode, raw
from tests.support.play import START_NS
from tests.support.walk import Move, walks

KEPT = Path(__file__).parent / "behaviour.json"
_WALKS = 4
"""Through each world."""
_STEPS = 40


def behaviour(protocol: Protocol) -> str:
    """A digest over the entries that it makes of fixed events (128 bits, hex)."""
    h = hashlib.blake2b(digest_size=16)
    for digest in _standing(protocol) if protocol.standing else _walked(protocol):
        h.update(digest.encode())
    return h.hexdigest()


def _walked(protocol: Protocol) -> Iterator[str]:
    protocol = replace(protocol, settings=protocol.tuned or protocol.settings)
    walk = walks()[protocol.name]
    for name in sorted(walk.worlds):
        world = walk.worlds[name]
        opened = world.opening()
        for i in range(_WALKS):
            dice = random.Random(f"{protocol.name}, {name}, {i}")
            session, entry = record_opening(protocol, "s1", opened, START_NS, "in:1")
            for n in range(_STEPS):
                if session.closed:
                    break
                moved = _move(protocol, session, entry.digest, list(walk.moves(world, session)), dice, n)
                if moved is None:
                    break
                session, entry = moved
            if not session.closed:
                cancelled = log.Cancelled(author="client")
                session, entry = record(protocol, session, entry.digest, cancelled, session.at_ns, "in:2")
            yield entry.digest


def _move(
    protocol: Protocol, session: Session, before: str, moves: list[Move], dice: random.Random, n: int
) -> tuple[Session, log.Entry] | None:
    """One of the moves that have a place here."""
    moves.sort(key=lambda move: (encode(move[0]), move[1]))
    dice.shuffle(moves)
    for event, at_ns in moves:
        try:
            return record(protocol, session, before, event, at_ns, f"x:{n}")
        except Illegal:
            continue
    return None


def _standing(protocol: Protocol) -> Iterator[str]:
    """It is told how tasks went, and nothing else."""
    dice = random.Random(protocol.name)
    opened = log.Opened(
        question="?", protocol=protocol.name, version=protocol.version, settings={}, seats=(), seed=0,
        turn_timeout_s=120.0,
    )  # fmt: skip
    session, entry = record_opening(protocol, protocol.standing, opened, START_NS, "standing")
    for n in range(60):
        ok = dice.random() < 0.6
        outcome = TaskOutcome(session=f"t{n}", ok=ok, why="" if ok else "nobody claimed it")
        told = log.Told(sender=f"t{n}", kind="outcome", body=raw(outcome))
        session, entry = record(protocol, session, entry.digest, told, START_NS + n, f"tell:t{n}:0-0")
        yield entry.digest


def now(name: str) -> dict[str, Any]:
    """The row of a protocol as it is."""
    return {"version": PROTOCOLS[name].version, "digest": behaviour(PROTOCOLS[name])}


def kept() -> dict[str, Any]:
    """The rows that are kept."""
    found: dict[str, Any] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def write(also: set[str]) -> None:
    """Keep the rows of protocols whose version is another, and of these."""
    before = kept()
    rows = {}
    for name in sorted({*walks(), *(p.name for p in STANDING.values())}):
        row = before.get(name)
        stays = row is not None and row["version"] == PROTOCOLS[name].version and name not in also
        rows[name] = row if stays else now(name)
    KEPT.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(set(sys.argv[1:]))
