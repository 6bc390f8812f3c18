"""Attacks that are one request each, as a table: its name, what is sent, and the statuses that it may be answered with.

Of every answer holds, too: it has no key, token, path or traceback, it lets no other site read it, and it may not be
framed. Attacks that take several steps: test_steps.py.
"""

from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest
import pytest_asyncio

from parley.web.guard import BODY
from tests.web.attacks.target import Target, target

pytestmark = pytest.mark.asyncio(loop_scope="module")


class Attack(NamedTuple):
    """One request. {sid} and {open} are sessions of alice, {port} is the gateway's."""

    name: str
    who: str
    """Whose token it brings; empty: none."""
    request: str
    """Method and path."""
    holds: tuple[int, ...]
    headers: tuple[tuple[str, str], ...] = ()
    body: str = ""


JSON = ("Content-Type", "application/json")
FORM = ("Content-Type", "multipart/form-data; boundary=x")
NO_BOUNDARY = ("Content-Type", "multipart/form-data")
URLENCODED = ("Content-Type", "application/x-www-form-urlencoded")
MCP = ("Accept", "application/json, text/event-stream")
PACKED = ("Content-Encoding", "gzip")
EVIL = ("Origin", "http://evil.test")
WEB_SOCKET = (("Upgrade", "websocket"), ("Sec-WebSocket-Key", "eA=="), ("Sec-WebSocket-Version", "13"))
START = '{"question":"x?","protocol":"consensus"'
CHAT = '{"model":"parley/consensus","messages":'
MESSAGE = '{"role":"user","content":"x?"}'
DEEP = '{"a":' * 20_000 + "1" + "}" * 20_000
HUGE = "9" * 5_000
GONE = (400, 404)
"""As if it were not there, or no id at all."""


def part(name: str, content: str, filename: str | None = None) -> str:
    file = "" if filename is None else f'; filename="{filename}"'
    return f'--x\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n{content}\r\n'


def stranger(name: str, request: str, *headers: tuple[str, str], holds: tuple[int, ...] = (401,)) -> Attack:
    """Somebody without a token."""
    return Attack(name, "", request, holds, headers)


def alice(name: str, request: str, *headers: tuple[str, str], holds: tuple[int, ...] = (400,)) -> Attack:
    """Her own token, and no body."""
    return Attack(name, "alice", request, holds, headers)


def sent(name: str, path: str, body: str) -> Attack:
    """JSON that no door takes."""
    return Attack(name, "alice", f"POST {path}", (400,), (JSON,), body)


def asked(name: str, fields: str) -> Attack:
    """A question with further fields."""
    return sent(name, "/api/sessions", f"{START},{fields}}}")


def form(name: str, body: str) -> Attack:
    """A question as a form, which ends here."""
    return Attack(name, "alice", "POST /api/sessions", (400,), (FORM,), body + "--x--\r\n")


def evidence(name: str, filename: str, content: str = "x") -> Attack:
    return form(name, part("request", START + "}") + part("evidence", content, filename))


SITES = [
    alice("DNS rebinding: a host that begins so", "GET /api/me", ("Host", "127.0.0.1.evil.test"), holds=(421,)),
    alice("a second host", "GET /api/me", ("Host", "127.0.0.1:{port}"), ("host", "evil.test"), holds=(400, 421)),
    Attack("cross-origin write", "alice", "POST /api/sessions", (403,), (EVIL, JSON), START + "}"),
    alice("an origin that is no address", "GET /api/me", ("Origin", "http://["), holds=(403,)),
    Attack("a preflight", "", "OPTIONS /api/sessions", (401, 403, 405), (("Access-Control-Request-Method", "POST"),)),
    Attack("signed in by another site", "", "POST /login", (403,), (EVIL,), "token=x"),
    alice("a web socket of another site", "GET /api/events", *WEB_SOCKET, EVIL, holds=(400, 403, 426)),
    Attack("a form as plain text", "", "POST /api/sessions", (401, 403), (EVIL, ("Content-Type", "text/plain")), START),
]

WHO = [
    stranger("a token in the address", "GET /api/me?token={alice}&access_token={alice}"),
    stranger("the digest of a token in its place", "GET /api/me", ("Authorization", "Bearer {digest}")),
    stranger("a token that is no text", "GET /api/me", ("Authorization", "Bearer \xff\xfe")),
    stranger("a cookie of backslashes", "GET /api/me", ("Cookie", 'parley="' + "\\" * 60_000 + '"')),
    stranger("a forged cookie", "GET /api/me", ("Cookie", "parley=616c696365.9999999999." + "0" * 64)),
    stranger("a cookie whose signature is no ASCII", "GET /api/me", ("Cookie", 'parley="616c696365.9999999999.\xe9"')),
    stranger("a cookie whose end is a huge number", "GET /api/me", ("Cookie", f"parley=616c696365.{HUGE}.0")),
    alice("another method in a header", "GET /logout", ("X-HTTP-Method-Override", "POST"), holds=(405,)),
    stranger("an open path with a parameter", "GET /login;/../api/sessions", holds=(401, 404)),
    alice("an address of another host as the path", "GET http://evil.test/api/me", holds=GONE),
    stranger("redirected to another site", "GET /login?code=guess&next=//evil.test"),
    stranger("metrics on the public port", "GET /metrics", holds=(401, 404)),
    alice("metrics, with a token", "GET /metrics", holds=(404,)),
    stranger("the static prefix before a route", "GET /static/../api/sessions", holds=(404,)),
]

IDS = {
    "..": "%2e%2e",
    "*": "*",
    ">": "%3E",
    "a.b": "a.b",
    "NUL": "%00",
    "a space": "a%20b",
    "a line break": "a%0d%0aPUB%20x%200",
}
PATHS = [
    stranger("out of /static by escaped dots", "GET /static/%2e%2e/app.py", holds=(404,)),
    stranger("out of /static by escaped slashes", "GET /static/..%2f..%2fpyproject.toml", holds=(404,)),
    stranger("a NUL in a file's name", "GET /static/index.html%00.js", holds=GONE),
    stranger("a file's name that is too long", "GET /static/" + "a" * 5_000, holds=(404, 414)),
    alice("an export by path", "GET /api/sessions/{sid}/export/..%2f..%2fetc%2fpasswd", holds=GONE),
    *(
        alice(f"a session's id that is {what}{route and ', streamed'}", f"GET /api/sessions/{id}{route}", holds=GONE)
        for what, id in IDS.items()
        for route in ("", "/events")
    ),
    alice("the head of a stream", "HEAD /api/sessions/{open}/events", holds=(200,)),
    alice("wildcards in a stream of several", "GET /api/events?session=*,%3E"),
    *(
        Attack(
            f"a seat that is {seat}", "alice", f"POST /api/sessions/{{open}}/seats/{seat}/sit", (403,), (JSON,), "{}"
        )
        for seat in ("*", "%3E", "a.b.c")
    ),
    asked("an earlier session that is >", '"continues":">"'),
    sent("an earlier session that is *", "/v1/chat/completions", CHAT + f'[{MESSAGE}],"parley":{{"continues":"*"}}}}'),
    alice("Last-Event-ID: garbage", "GET /api/sessions/{sid}/events", ("Last-Event-ID", "\xff;;=,:")),
    alice("Last-Event-ID: 9,000 characters", "GET /api/sessions/{sid}/events", ("Last-Event-ID", "a:1," * 2_250)),
    alice("a page of the list from a huge number", f"GET /api/sessions?before={HUGE}"),
    alice("a limit of another alphabet", "GET /api/sessions?limit=%D9%A3"),
    alice("33 sessions in one stream", "GET /api/events?session=" + ",".join(f"s{n}" for n in range(33))),
]

MANY_NAMES = ",".join(f'"{n}":1' for n in range(30_000))
BODIES = [
    Attack("a body that is oversize", "alice", "POST /api/estimate", (413,), (JSON,), " " * 400_001),
    Attack("a form without a token", "", "POST /login", (413,), (URLENCODED,), "token=" + "x" * (BODY + 1)),
    sent("JSON 20,000 deep", "/api/sessions", DEEP),
    Attack("JSON 20,000 deep to MCP", "alice", "POST /mcp", (400, 406), (JSON, MCP), DEEP),
    asked("JSON with 30,000 fields", MANY_NAMES),
    asked("a field twice, the second of another kind", '"question":1'),
    asked("a seed of 5,000 digits", f'"seed":{HUGE}'),
    asked("a budget of 1e300 tokens", '"budget":{"tokens":1e300}'),
    asked("a turn of 1e400 seconds", '"turn_timeout_s":1e400'),
    asked("a limit of rounds above 64 bits", f'"settings":{{"round_limit":{10**30}}}'),
    sent("bytes that are no UTF-8", "/api/sessions", '{"question":"\xff"}'),
    sent("half of a surrogate pair", "/api/sessions", '{"question":"\\ud800","protocol":"consensus"}'),
    sent("40,000 messages at once", "/v1/chat/completions", CHAT + "[" + ",".join([MESSAGE] * 40_000) + "]}"),
    sent(
        "a message of 40,000 parts",
        "/v1/chat/completions",
        CHAT + '[{"role":"user","content":[' + ",".join(['{"type":"text","text":"x"}'] * 40_000) + "]}]}",
    ),
    sent("30,000 parameters, which would be told back", "/v1/chat/completions", CHAT + f"[{MESSAGE}],{MANY_NAMES}}}"),
    Attack("a body that says it is packed", "alice", "POST /api/sessions", (400,), (JSON, PACKED), "\x1f\x8b\x08\x00"),
    Attack("a form without a boundary", "alice", "POST /api/sessions", (400,), (NO_BOUNDARY,), "x"),
    form("a form of 500 parts", part("request", START + "}") + "".join(part(f"f{n}", "") for n in range(500))),
    evidence("evidence named with a path", "../../etc/cron.d/x.md"),
    evidence("evidence named with backslashes", "..\\\\..\\\\x.md"),
    evidence("evidence with a name of 8,000 bytes", "/".join(["a" * 250] * 32) + ".md"),
    evidence("evidence whose path is longer than a path may be", "/".join(["a" * 240] * 17) + ".md"),
    evidence("evidence that is a program", "a.md", "\x7fELF\x00\x01\xff"),
    evidence("evidence named as a secret", ".env", "KEY=1"),
]

COMPETES = '{"question":"x?","protocol":"competition","settings":{"%s":"/etc/passwd"}}'
OWNERS = [
    Attack(f"an owner's route: {request}", "alice", request, (403,), (JSON,), body)
    for request, body in (
        ("GET /api/agents", ""), ("GET /api/sessions/{sid}?everything=1", ""),
        ("GET /api/sessions/{sid}/export/record?everything=1", ""),
        ("GET /api/events?session={sid}&everything=true", ""),
        ("POST /api/sessions/{sid}/what-if", '{"settings":{"threshold":50}}'), ("POST /api/estimate", START + "}"),
    )
]  # fmt: skip

SCRIPT = "%3Cscript%3Ealert(1)%3C%2Fscript%3E"
TOLD_BACK = [
    alice(f"words that are told back: {path}", f"GET {path}{SCRIPT}", holds=(400, 403, 404))
    for path in ("/api/sessions/{open}/export/", "/api/sessions/", "/v1/models/", "/api/sessions?limit=")
]

NAMES_A_FILE = '"parley":{"settings":{"format":"/etc/passwd"}}}'
FILES = [
    sent("a setting that names a file, web", "/api/sessions", COMPETES % "format"),
    sent("a setting that names a file, estimate", "/api/estimate", COMPETES % "format"),
    sent(
        "a setting that names a file, OpenAI",
        "/v1/chat/completions",
        f'{{"model":"parley/competition","messages":[{MESSAGE}],{NAMES_A_FILE}',
    ),
]

ATTACKS = [*SITES, *WHO, *PATHS, *BODIES, *OWNERS, *TOLD_BACK, *FILES]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def attacked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Target]:
    async with target(tmp_path_factory.mktemp("attacked")) as found:
        yield found


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
async def test_one_request(attacked: Target, attack: Attack) -> None:
    values = {
        "sid": attacked.finished, "open": attacked.open, "port": str(attacked.port), "alice": attacked.tokens["alice"],
        "half": attacked.tokens["alice"][:20], "digest": (attacked.keys / "alice.token").read_text().strip(),
    }  # fmt: skip

    def filled(text: str) -> str:
        for key, value in values.items():
            text = text.replace("{" + key + "}", value)
        return text

    headers = {key: filled(value) for key, value in attack.headers}
    given = (attacked.as_(attack.who) if attack.who else {}) | headers
    method, _, path = attack.request.partition(" ")
    answer = await attacked.ask(method, filled(path), given, filled(attack.body).encode("latin-1"))
    assert answer.status in attack.holds, f"{answer.status} {answer.text[:300]}"
    assert not [s for s in attacked.secrets() if s in answer.text + str(answer.headers)]
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert attack not in TOLD_BACK or "html" not in answer.headers["content-type"]
    assert attack not in OWNERS or "owner" in answer.text
    if answer.status not in (400, 426) or "content-security-policy" in answer.headers:  # else the server's own answer
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY" and answer.headers["x-content-type-options"] == "nosniff"


async def test_what_was_sent_left_no_session_behind(attacked: Target) -> None:
    listed = await attacked.json("owner", "GET", "/api/sessions")
    assert {row["session"] for row in listed.document["sessions"]} == {attacked.finished, attacked.open}
    assert len(ATTACKS) >= 40 and len({attack.name for attack in ATTACKS}) == len(ATTACKS)
