"""How alike tasks are: the cosine of what the shipped encoder makes of what they want; where it is not installed, of
the roots of their words. A task is of the kind of another from a likeness of LEAST on."""

from collections.abc import Sequence

import msgspec
import numpy as np

from parley.agents.encoders import Encoder, EncoderError, Vectors
from parley.agents.matching.matcher import Roots, embedded, read_task
from parley.client.setup.lesson import Lesson
from parley.schemas.routing import Task

LEAST = 0.35
"""Of two tasks of the golden set's half to develop on that two experts lead, one pair in 130 is as like as this."""


async def likenesses(task: str, lessons: Sequence[Lesson]) -> tuple[dict[str, float], list[Lesson]]:
    """(Session -> how like its task is to this one, of those that are of its kind; the lessons with their vectors)."""
    try:
        encoder: Encoder = embedded()
        (own,) = await encoder.encode([_wanted(task)])
    except EncoderError:
        encoder = Roots()
        (own,) = await encoder.encode([_wanted(task)])
    new = [one for one in lessons if one.encoder != encoder.name]
    rows = await encoder.encode([_wanted(one.task) for one in new]) if new else ()
    known = {
        one.session: msgspec.structs.replace(one, encoder=encoder.name, vector=_packed(row))
        for one, row in zip(new, rows, strict=True)
    }
    lessons = [known.get(one.session, one) for one in lessons]
    found = {one.session: float(_unpacked(one.vector) @ own) for one in lessons}
    return {sid: round(min(like, 1.0), 4) for sid, like in found.items() if like >= LEAST}, list(known.values())


def _wanted(task: str) -> str:
    """What is compared of a task: what it wants, without what would steer who gets it."""
    return read_task(Task(prompt=task), ()).text or task


def _packed(row: Vectors) -> bytes:
    return np.round(row * 127).astype(np.int8).tobytes()


def _unpacked(vector: bytes) -> Vectors:
    return np.frombuffer(vector, np.int8).astype(np.float32) / np.float32(127)
