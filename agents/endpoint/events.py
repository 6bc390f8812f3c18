"""Reads server-sent events from a body that comes in pieces: no line and no event grows beyond its limit."""

from collections.abc import AsyncIterator

from parley.agents.endpoint.bounds import ReplyLimits

_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")


async def detect_stream(pieces: AsyncIterator[bytes], kind: str) -> tuple[AsyncIterator[bytes], bool]:
    """The same pieces without what is blank at their start, and whether they are a stream of events. Servers give
    streams, and what is none, any content type, so it counts only where the start does not tell."""
    first = b""
    async for piece in pieces:
        first = (first + piece).removeprefix(_BOM).lstrip()
        if len(first) > len(_BOM):
            break

    async def whole() -> AsyncIterator[bytes]:
        yield first
        async for piece in pieces:
            yield piece

    called_one = kind.lower() == "text/event-stream"
    return whole(), first.startswith(_FIELDS) or (called_one and not first.startswith((b"{", b"[")))


async def events(pieces: AsyncIterator[bytes], limits: ReplyLimits) -> AsyncIterator[bytes]:
    """The data of each event; other fields and comments are left out. Raises BadBody: a line or an event that is longer
    than the limit."""
    data, lines = bytearray(), 0
    async for line in _lines(pieces, limits):
        if line.startswith(b"data:"):
            more = line[5:].strip()
            if data.endswith(b"}") and more.startswith((b"{", b"[DONE]")):  # some leave out the empty line between two
                yield bytes(data)
                data, lines = bytearray(), 0
            data += b"\n" if lines else b""
            data += more
            lines += 1
            if len(data) > limits.event_bytes:
                raise limits.too_much("an event of the stream", limits.event_bytes)
        elif not line and lines:
            if data:
                yield bytes(data)
            data, lines = bytearray(), 0
    if data:
        yield bytes(data)


async def _lines(pieces: AsyncIterator[bytes], limits: ReplyLimits) -> AsyncIterator[bytes]:
    """Lines without their end, which is LF, CR or both."""
    buffer = bytearray()
    async for piece in pieces:
        was_cr = buffer.endswith(b"\r")
        buffer += piece
        if was_cr or b"\n" in piece or b"\r" in piece:
            *lines, last = bytes(buffer).splitlines(keepends=True)
            buffer = bytearray()
            if last.endswith(b"\n"):
                lines.append(last)
            else:  # with CR at its end it waits too: LF may follow
                buffer += last
            for line in lines:
                yield line.rstrip(b"\r\n")
        if len(buffer) > limits.event_bytes:
            raise limits.too_much("a line of the stream", limits.event_bytes)
    if buffer:
        yield bytes(buffer).rstrip(b"\r\n")
