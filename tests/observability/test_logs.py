"""One line each, with ids, without secrets, without terminal escapes."""

import asyncio
import io
import json
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import nkeys
import pytest

from parley.observability import logs

log = logging.getLogger("tests.somewhere")


class Capture:
    """The log of this process, written to memory."""

    def __init__(self, as_json: bool) -> None:
        self.stream = io.StringIO()
        logs.setup_logging("DEBUG", json=as_json, stream=self.stream)

    def lines(self) -> list[str]:
        return self.stream.getvalue().splitlines()

    def one(self) -> dict[str, Any]:
        (line,) = self.lines()
        out: dict[str, Any] = json.loads(line)
        return out


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    for handler in list(root.handlers):
        root.removeHandler(handler)
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    logging.captureWarnings(False)


def test_a_line_says_when_who_what_and_in_which_session() -> None:
    out = Capture(as_json=True)
    with logs.session("8f3a"):
        log.info("turn %s taken", "3-1", extra={"deliveries": 2})
    line = out.one()
    assert line["message"] == "turn 3-1 taken"
    told = [line[name] for name in ("level", "logger", "session", "deliveries")]
    assert told == ["info", "tests.somewhere", "8f3a", 2]
    assert line["at"].endswith("Z") and len(line["at"]) == len("2026-01-01T00:00:00.000Z")


async def test_sessions_served_at_once_do_not_mix() -> None:
    out = Capture(as_json=True)
    both = asyncio.Barrier(2)

    async def serve(sid: str) -> None:
        with logs.session(sid):
            await both.wait()
            log.info("serving %s", sid)

    await asyncio.gather(serve("one"), serve("two"))
    log.info("serving nobody")
    seen = [json.loads(line) for line in out.lines()]
    assert {(r["message"], r.get("session")) for r in seen} == {
        ("serving one", "one"),
        ("serving two", "two"),
        ("serving nobody", None),
    }


def test_an_error_is_one_line_with_its_traceback() -> None:
    out = Capture(as_json=True)
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        log.exception("it broke")
    line = out.one()
    assert "Traceback" in line["error"] and "first\nsecond" in line["error"]


def test_neither_a_wrong_format_string_nor_a_warning_is_lost() -> None:
    out = Capture(as_json=True)
    log.info("turn %s of %s", "one")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old way", DeprecationWarning, stacklevel=1)
    wrong, warned = out.lines()
    assert "turn %s of %s" in wrong and "old way" in warned


@pytest.mark.parametrize("as_json", [True, False])
def test_terminal_escapes_and_line_breaks_are_written_out(as_json: bool) -> None:
    out = Capture(as_json)
    log.info("says %s", "\x1b[31mred\x1b]0;title\x07\nforged line \x9b2J \u202egnp \x7f", extra={"name_": "\x1b[2J"})
    (line,) = out.lines()
    assert not [c for c in line if not c.isprintable()]
    assert "forged line" in line


SEED = nkeys.encode_seed(bytes(range(32)), nkeys.PREFIX_BYTE_USER).decode()


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"connecting with {SEED}", SEED),
        ("key sk-ant-REDACTED refused", "sk-ant-REDACTED"),
        ("Authorization: Bearer abcdef123456.xyz", "abcdef123456.xyz"),
        ("OPENAI_API_KEY=verysecretvalue", "verysecretvalue"),
        ('{"api_key": "verysecretvalue"}', "verysecretvalue"),
        ("nats://user:hunter2hunter2@host:4222", "hunter2hunter2"),
        ("AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSyA1234567890abcdefghijklmnopqrstuv"),
        ("0123456789abcdef0123456789abcdef.AbCdEfGhIjKlMnOp", "AbCdEfGhIjKlMnOp"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0x.c2lnbmF0dXJl", "eyJzdWIiOiIxIn0x"),
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_secrets_are_hidden_wherever_they_stand(text: str, secret: str, as_json: bool) -> None:
    out = Capture(as_json)
    log.info(text, extra={"detail": {"nested": [text]}})
    log.info("%s", text)
    try:
        raise RuntimeError(text)
    except RuntimeError:
        log.exception("failed")
    whole = "\n".join(out.lines())
    assert len(out.lines()) == 3
    assert secret not in whole
    assert logs.HIDDEN in whole


def test_a_field_named_like_a_secret_is_hidden_and_a_count_of_tokens_is_not() -> None:
    out = Capture(as_json=True)
    log.info("input_tokens=1234567, tokens: 7654321", extra={"turn_token": "short", "output_tokens": 12})
    line = out.one()
    assert line["message"] == "input_tokens=1234567, tokens: 7654321"
    assert (line["turn_token"], line["output_tokens"]) == (logs.HIDDEN, 12)


def test_an_endless_text_is_cut() -> None:
    out = Capture(as_json=True)
    log.info("x" * 1_000_000)
    assert len(out.lines()[0]) < 10_000
