"""Checks the encoder of the helper: its name, whether it answers, and the length of its vectors."""

import asyncio
import contextlib
import time

import msgspec

from parley.client.errors import BadInput
from parley.client.text import line
from parley.stack.announce import spec_of
from parley.stack.rows import AgentRow

HELPER = "helper"
_WITHIN_S = 20.0
_TEXT = "The audit saw it fail."


class EncoderFound(msgspec.Struct, frozen=True, kw_only=True):
    """The helper's encoder."""

    agent: str
    """The helper's queue."""
    encoder: str = ""
    """embedded | none | one that a package brings; empty: not known."""
    model: str = ""
    dimension: int | None = None
    """Of its vectors; None: not known."""
    status: str
    """answers | configured (not tried) | none (not used) | missing | unknown (of a stack with helpers of its own)"""
    seconds: float | None = None
    """Until the first vector."""
    why: str = ""
    """What is wrong, or what is used in its place."""


def unseen() -> EncoderFound:
    """Of a stack that runs elsewhere, or with settings of its own: its helper does not announce its encoder."""
    return EncoderFound(agent=HELPER, status="unknown", why="it lives in the helper's process; doctor, where that runs")


def helper(rows: tuple[AgentRow, ...]) -> AgentRow | None:
    """The row that compares; None: these settings have none."""
    return next((row for row in rows if row.queue == HELPER or HELPER in row.roles), None)


async def examine(row: AgentRow, *, probe: bool) -> EncoderFound:
    """Look at the encoder of a helper, and let it encode a few words where that neither costs nor loads anything, or
    where `probe` says so."""
    try:
        spec = spec_of(row)
    except BadInput as error:
        return EncoderFound(agent=row.queue, status="missing", why=str(error))
    from parley.agents.encoders import EMBEDDED, EncoderError, make_encoder

    own = spec.options.get("encoder") if spec.model == "extractive" else None  # beside a model: the embedded one
    name = str(own or EMBEDDED)
    report = EncoderFound(agent=row.queue, encoder=name, status="missing")
    replace = msgspec.structs.replace
    try:
        encoder = make_encoder(name)
    except EncoderError as error:
        return replace(report, why=error.why)
    if encoder is None:
        return replace(report, status="none", why="no encoder is wanted: words are compared")
    report = replace(report, model=encoder.name, dimension=encoder.dimension or None, status="configured")
    if not (probe or name == EMBEDDED):
        return report
    started = time.perf_counter()
    try:
        async with asyncio.timeout(_WITHIN_S):
            width = (await encoder.encode([_TEXT])).shape[1]
    except EncoderError as error:
        return replace(report, status="missing", why=error.why)
    except TimeoutError:
        return replace(report, status="missing", why=f"nothing within {_WITHIN_S:g} s")
    finally:
        with contextlib.suppress(OSError):
            await encoder.aclose()
    return replace(report, status="answers", dimension=width, seconds=round(time.perf_counter() - started, 3))


def cure() -> str:
    """Says how to fix an encoder that does not answer."""
    return "correct it in the environment, .env or the agent file (docs/encoders.md), or set ENCODER=none"


def encoder_line(report: EncoderFound) -> str:
    """One line of the screen."""
    parts = [line(f"{report.encoder}: {report.model}" if report.model and report.encoder else report.encoder)]
    if report.dimension:
        parts.append(f"{report.dimension} numbers a vector")
    if report.seconds is not None:
        parts.append(f"{report.seconds:.2f} s")
    if report.why:
        parts.append(line(report.why))
    if report.status == "configured":
        parts.append("not tried: --probe")
    return f"compares objections ({line(report.agent)}): " + ", ".join(p for p in parts if p)
