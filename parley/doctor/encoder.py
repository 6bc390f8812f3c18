"""Checks the encoder of the helper: its name, whether it answers, and the length of its vectors."""

import asyncio
import time

from parley.client.errors import BadInput
from parley.client.text import line
from parley.doctor.report import Component
from parley.stack.announce import spec_of
from parley.stack.rows import AgentRow

HELPER = "helper"
UNSEEN = Component(status="unknown", what="it lives in the helper's process; doctor, where that runs")
"""Of a stack that runs elsewhere, or with settings of its own: its helper does not announce its encoder."""
MEND = "correct it in the environment, .env or the agent file (docs/encoders.md), or set ENCODER=none"
_WITHIN_S = 20.0
_TEXT = "The audit saw it fail."


def helper(rows: tuple[AgentRow, ...]) -> AgentRow | None:
    """The row that compares; None: these settings have none."""
    return next((row for row in rows if row.queue == HELPER or HELPER in row.roles), None)


async def examine(row: AgentRow, *, probe: bool) -> Component:
    """Look at the encoder of a helper, and let it encode a few words where that neither costs nor loads anything, or
    where `probe` says so. Its status: answers, configured (not tried), none (not used), missing, or unknown where the
    helper cannot be made."""
    try:
        spec = spec_of(row)
    except BadInput as error:
        return Component(status="unknown", what=line(str(error)))
    from parley.agents.encoders import EMBEDDED, EncoderError, make_encoder

    own = spec.options.get("encoder") if spec.model == "extractive" else None  # beside a model: the embedded one
    name = str(own or EMBEDDED)
    what = f"compares objections ({line(row.queue)}): {line(name)}"
    try:
        encoder = make_encoder(name)
    except EncoderError as error:
        return Component(status="missing", what=f"{what}: {line(error.why)}")
    if encoder is None:
        return Component(status="none", what=f"{what}, no encoder is wanted: words are compared")
    what += f": {line(encoder.name)}"
    if not (probe or name == EMBEDDED):
        return Component(status="configured", what=f"{what}, not tried: --probe")
    started = time.perf_counter()
    try:
        async with asyncio.timeout(_WITHIN_S):
            width = (await encoder.encode([_TEXT])).shape[1]
    except EncoderError as error:
        return Component(status="missing", what=f"{what}: {line(error.why)}")
    except TimeoutError:
        return Component(status="missing", what=f"{what}: nothing within {_WITHIN_S:g} s")
    seconds = time.perf_counter() - started
    return Component(status="answers", what=f"{what}, {width} numbers a vector, {seconds:.2f} s")
