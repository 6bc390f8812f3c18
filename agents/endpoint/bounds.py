"""Limits of an endpoint's reply, and the error for a larger one (docs/security.md)."""

import msgspec


class BadBody(Exception):
    """A body that cannot be used, or is more than is taken. `why` names the limit and its setting, `cure` what mends
    it where the same would come again."""

    def __init__(self, why: str, cure: str = "") -> None:
        self.why = why
        self.cure = cure
        super().__init__(why)


class Failed(BadBody):
    """The server told of an error with status 200. `message`: its text, `error`: that error as it came."""

    def __init__(self, message: str, error: bytes) -> None:
        self.message = message
        self.error = error
        super().__init__(f"the server failed: {message}")


class ReplyLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What is taken of one reply."""

    reply_bytes: int = 4_000_000
    """Of a body that is no stream. The others follow from it."""
    reply_s: float = 1_800.0
    """So long one reply may take from the request on, whatever arrives meanwhile."""

    @property
    def event_bytes(self) -> int:
        """Of a line and of an event."""
        return self.reply_bytes // 4

    @property
    def text_bytes(self) -> int:
        """Of a reply's text, and of its refusal."""
        return self.reply_bytes // 4

    @property
    def stream_bytes(self) -> int:
        """Of a stream with everything around its text."""
        return self.reply_bytes * 64

    def too_much(self, what: str, most: int) -> BadBody:
        """The error for more than `most` bytes."""
        share = {self.event_bytes: ", a quarter of LLM_REPLY_BYTES", self.stream_bytes: ", 64 times LLM_REPLY_BYTES"}
        named = share.get(most, "; the setting is LLM_REPLY_BYTES" if most == self.reply_bytes else "")
        return BadBody(f"{what} has more than {most:,} bytes{named}")
