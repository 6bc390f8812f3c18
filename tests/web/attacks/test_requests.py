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
PACKED = ("Content-Encoding", "gzip")
EVIL = ("Origin", "http://evil.test")
NO_CORS = (("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "script"))
IFRAME = (("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe"))
START = '{"question":"x?","protocol":"consensus"'
DEEP = '{"a":' * 20_000 + "1" + "}" * 20_000
HUGE = "9" * 5_000
GONE = (400, 404)
"""As if it were not there, or no id at all."""


def part(name: str, content: str, filename: str | None = None) -> str:
    """One part of a form."""
    file = "" if filename is None else f'; filename="{filename}"'
    return f'--x\r\nContent-Disposition: form-data; name="{name}"{file}\r\n\r\n{content}\r\n'


def evidence(filename: str, content: str = "x") -> str:
    """A session to start, with one file."""
    return part("request", START + "}") + part("evidence", content, filename) + "--x--\r\n"


SITES = [
    Attack("DNS rebinding: another host", "alice", "GET /api/me", (421,), (("Host", "evil.test:{port}"),)),
    Attack("DNS rebinding: a host that begins so", "alice", "GET /api/me", (421,), (("Host", "127.0.0.1.evil.test"),)),
    Attack("a host behind userinfo", "alice", "GET /api/me", (400, 421), (("Host", "127.0.0.1@evil.test"),)),
    Attack("cross-origin read", "alice", "GET /api/sessions", (403,), (EVIL,)),
    Attack("cross-origin write", "alice", "POST /api/sessions", (403,), (EVIL, JSON), START + "}"),
    Attack("an origin that is no address", "alice", "GET /api/me", (403,), (("Origin", "http://["),)),
    Attack(
        "origin null, of a sandboxed frame", "alice", "POST /api/sessions", (403,), (("Origin", "null"),), START + "}"
    ),
    Attack("another port of this machine", "alice", "GET /api/me", (403,), (("Origin", "http://127.0.0.1:1"),)),
    Attack("no-cors, as a script of another site", "alice", "GET /api/sessions", (403,), NO_CORS),
    Attack("framed by another site", "alice", "GET /", (403,), IFRAME),
    Attack("a preflight", "", "OPTIONS /api/sessions", (401, 403, 405), (("Access-Control-Request-Method", "POST"),)),
    Attack("signed in by another site", "", "POST /login", (403,), (EVIL,), "token=x"),
    Attack(
        "a web socket of another site",
        "alice",
        "GET /api/events",
        (400, 403, 426),
        (EVIL, ("Upgrade", "websocket"), ("Sec-WebSocket-Key", "eA=="), ("Sec-WebSocket-Version", "13")),
    ),
    Attack("a form as plain text", "", "POST /api/sessions", (401, 403), (EVIL, ("Content-Type", "text/plain")), START),
]

WHO = [
    Attack("no token at all", "", "GET /api/sessions", (401,)),
    Attack("a token in the address", "", "GET /api/me?token={alice}&access_token={alice}", (401,)),
    Attack("a token by another scheme", "", "GET /api/me", (401,), (("Authorization", "Basic {alice}"),)),
    Attack("half of a token", "", "GET /api/me", (401,), (("Authorization", "Bearer {half}"),)),
    Attack("the digest of a token in its place", "", "GET /api/me", (401,), (("Authorization", "Bearer {digest}"),)),
    Attack("a token that is no text", "", "GET /api/me", (401,), (("Authorization", "Bearer \xff\xfe"),)),
    Attack("a cookie of backslashes", "", "GET /api/me", (401,), (("Cookie", 'parley="' + "\\" * 60_000 + '"'),)),
    Attack(
        "two tokens, the second one good",
        "",
        "GET /api/me",
        (401,),
        (("Authorization", "Bearer x"), ("authorization", "Bearer {alice}")),
    ),
    Attack("another method in a header", "alice", "GET /logout", (405,), (("X-HTTP-Method-Override", "POST"),)),
    Attack("a path of two slashes", "", "GET //api/sessions", (401, 404)),
    Attack("an open path with a parameter", "", "GET /login;/../api/sessions", (401, 404)),
    Attack("an address of another host as the path", "alice", "GET http://evil.test/api/me", (400, 404)),
    Attack("an empty token", "", "GET /api/me", (401,), (("Authorization", "Bearer "),)),
    Attack("a forged cookie", "", "GET /api/me", (401,), (("Cookie", "parley=616c696365.9999999999." + "0" * 64),)),
    Attack(
        "a cookie whose signature is no ASCII",
        "",
        "GET /api/me",
        (401,),
        (("Cookie", 'parley="616c696365.9999999999.\xe9"'),),
    ),
    Attack("a cookie with another's name", "", "GET /api/me", (401,), (("Cookie", "parley={other}"),)),
    Attack("a cookie that ends later", "", "GET /api/me", (401,), (("Cookie", "parley={later}"),)),
    Attack(
        "a cookie whose end is a huge number", "", "GET /api/me", (401,), (("Cookie", f"parley=616c696365.{HUGE}.0"),)
    ),
    Attack("a code that was never given", "", "GET /login?code=guess", (401,)),
    Attack("redirected to another site", "", "GET /login?code=guess&next=//evil.test", (401,)),
    Attack("metrics on the public port", "", "GET /metrics", (401, 404)),
    Attack("metrics, with a token", "alice", "GET /metrics", (404,)),
    Attack("an open path with more behind it", "", "GET /healthz/../api/sessions", (401, 404)),
    Attack("the static prefix before a route", "", "GET /static/../api/sessions", (404,)),
]

PATHS = [
    Attack("out of /static by dots", "", "GET /static/../../web/app.py", (404,)),
    Attack("out of /static by escaped dots", "", "GET /static/%2e%2e/app.py", (404,)),
    Attack("out of /static by escaped slashes", "", "GET /static/..%2f..%2fpyproject.toml", (404,)),
    Attack("out of /static to the root", "", "GET /static//etc/passwd", (404,)),
    Attack("a NUL in a file's name", "", "GET /static/index.html%00.js", (400, 404)),
    Attack("a file's name that is too long", "", "GET /static/" + "a" * 5_000, (404, 414)),
    Attack("an export by path", "alice", "GET /api/sessions/{sid}/export/..%2f..%2fetc%2fpasswd", GONE),
    Attack("a form of export that is a file", "alice", "GET /api/sessions/{sid}/export/%2e%2e", GONE),
    *(
        Attack(
            f"a session's id that is {what}{route and ', streamed'}", "alice", f"GET /api/sessions/{id}{route}", GONE
        )
        for what, id in (
            ("..", "%2e%2e"),
            ("*", "*"),
            (">", "%3E"),
            ("a.b", "a.b"),
            ("NUL", "%00"),
            ("a space", "a%20b"),
            ("a line break", "a%0d%0aPUB%20x%200"),
        )
        for route in ("", "/events")
    ),
    Attack("wildcards in a stream of several", "alice", "GET /api/events?session=*,%3E", (400,)),
    Attack("a seat that is *", "alice", "POST /api/sessions/{open}/seats/*/sit", (403,), (JSON,), "{}"),
    Attack("a seat that is >", "alice", "POST /api/sessions/{open}/seats/%3E/sit", (403,), (JSON,), "{}"),
    Attack("a seat with dots", "alice", "POST /api/sessions/{open}/seats/a.b.c/sit", (403,), (JSON,), "{}"),
    Attack("an earlier session that is >", "alice", "POST /api/sessions", (400,), (JSON,), START + ',"continues":">"}'),
    Attack(
        "an earlier response that is *",
        "alice",
        "POST /v1/responses",
        (400,),
        (JSON,),
        '{"model":"parley/consensus","input":"x?","previous_response_id":"resp_*"}',
    ),
    Attack(
        "Last-Event-ID: garbage", "alice", "GET /api/sessions/{sid}/events", (400,), (("Last-Event-ID", "\xff;;=,:"),)
    ),
    Attack(
        "Last-Event-ID: a huge number",
        "alice",
        "GET /api/sessions/{sid}/events",
        (400,),
        (("Last-Event-ID", f"public:{HUGE}"),),
    ),
    Attack(
        "Last-Event-ID: 9,000 characters",
        "alice",
        "GET /api/sessions/{sid}/events",
        (400,),
        (("Last-Event-ID", "a:1," * 2_250),),
    ),
    Attack("a page of the list from a huge number", "alice", f"GET /api/sessions?before={HUGE}", (400,)),
    Attack("a limit of another alphabet", "alice", "GET /api/sessions?limit=%D9%A3", (400,)),
    Attack(
        "33 sessions in one stream", "alice", "GET /api/events?session=" + ",".join(f"s{n}" for n in range(33)), (400,)
    ),
]

BODIES = [
    Attack(
        "a body that is oversize",
        "alice",
        "POST /api/estimate",
        (413,),
        (JSON, ("Content-Length", "500000")),
        " " * 400_001,
    ),
    Attack(
        "a form without a token",
        "",
        "POST /login",
        (413,),
        (("Content-Type", "application/x-www-form-urlencoded"),),
        "token=" + "x" * (BODY + 1),
    ),
    Attack("JSON 20,000 deep", "alice", "POST /api/sessions", (400,), (JSON,), DEEP),
    Attack("JSON 20,000 deep to the OpenAI door", "alice", "POST /v1/chat/completions", (400,), (JSON,), DEEP),
    Attack(
        "JSON 20,000 deep to MCP",
        "alice",
        "POST /mcp",
        (400, 406),
        (JSON, ("Accept", "application/json, text/event-stream")),
        DEEP,
    ),
    Attack(
        "JSON with 60,000 fields",
        "alice",
        "POST /api/sessions",
        (400,),
        (JSON,),
        START + "," + ",".join(f'"{n}":1' for n in range(30_000)) + "}",
    ),
    Attack(
        "settings with 30,000 names",
        "alice",
        "POST /api/sessions",
        (400,),
        (JSON,),
        START + ',"settings":{' + ",".join(f'"{n}":1' for n in range(30_000)) + "}}",
    ),
    Attack(
        "a field twice, the second of another kind",
        "alice",
        "POST /api/sessions",
        (400,),
        (JSON,),
        START + ',"question":1}',
    ),
    Attack("a seed of 5,000 digits", "alice", "POST /api/sessions", (400,), (JSON,), START + f',"seed":{HUGE}}}'),
    Attack(
        "a budget of 1e300 tokens",
        "alice",
        "POST /api/sessions",
        (400,),
        (JSON,),
        START + ',"budget":{"tokens":1e300}}',
    ),
    Attack(
        "a turn of 1e400 seconds", "alice", "POST /api/sessions", (400,), (JSON,), START + ',"turn_timeout_s":1e400}'
    ),
    Attack("a panel of 10^30", "alice", "POST /api/sessions", (400,), (JSON,), START + f',"panel":{10**30}}}'),
    Attack(
        "a threshold above 64 bits",
        "alice",
        "POST /api/sessions",
        (400,),
        (JSON,),
        START + f',"settings":{{"round_limit":{10**30}}}}}',
    ),
    Attack("bytes that are no UTF-8", "alice", "POST /api/sessions", (400,), (JSON,), '{"question":"\xff"}'),
    Attack(
        "half of a surrogate pair",
        "alice",
        "POST /api/sessions",
        (400,),
        (JSON,),
        '{"question":"\\ud800","protocol":"consensus"}',
    ),
    Attack(
        "a budget of texts to the OpenAI door",
        "alice",
        "POST /v1/chat/completions",
        (400,),
        (JSON,),
        '{"model":"parley/consensus","messages":[{"role":"user","content":"x?"}],"parley":{"budget":{"tokens":"1e9"}}}',
    ),
    Attack(
        "40,000 messages at once",
        "alice",
        "POST /v1/chat/completions",
        (400,),
        (JSON,),
        '{"model":"parley/consensus","messages":[' + ",".join(['{"role":"user","content":"x"}'] * 40_000) + "]}",
    ),
    Attack(
        "a message of 40,000 parts",
        "alice",
        "POST /v1/responses",
        (400,),
        (JSON,),
        '{"model":"parley/consensus","input":[{"role":"user","content":['
        + ",".join(['{"type":"input_text","text":"x"}'] * 40_000)
        + "]}]}",
    ),
    Attack(
        "60,000 parameters, which would be told back",
        "alice",
        "POST /v1/chat/completions",
        (400,),
        (JSON,),
        '{"model":"parley/consensus","messages":[{"role":"user","content":"x"}],'
        + ",".join(f'"a{n}":1' for n in range(60_000))
        + "}",
    ),
    Attack("a body that says it is packed", "alice", "POST /api/sessions", (400,), (JSON, PACKED), "\x1f\x8b\x08\x00"),
    Attack("a response's id that is *", "alice", "DELETE /v1/responses/*", (404,)),
    Attack("a response's id that is a path", "alice", "GET /v1/responses/..%2f..%2fapi%2fme", (404,)),
    Attack("a response's id with a line break", "alice", "GET /v1/responses/a%0d%0aPUB%20x%200", (404,)),
    Attack(
        "a form without a boundary",
        "alice",
        "POST /api/sessions",
        (400,),
        (("Content-Type", "multipart/form-data"),),
        "x",
    ),
    Attack(
        "a form of 500 parts",
        "alice",
        "POST /api/sessions",
        (400,),
        (FORM,),
        part("request", START + "}") + "".join(part(f"f{n}", "") for n in range(500)) + "--x--\r\n",
    ),
    Attack(
        "a form whose part has no name",
        "alice",
        "POST /api/sessions",
        (400,),
        (FORM,),
        "--x\r\nA: b\r\n\r\nc\r\n--x--\r\n",
    ),
    Attack(
        "evidence named with a path", "alice", "POST /api/sessions", (400,), (FORM,), evidence("../../etc/cron.d/x.md")
    ),
    Attack("evidence named from the root", "alice", "POST /api/sessions", (400,), (FORM,), evidence("/etc/passwd.md")),
    Attack(
        "evidence named with backslashes", "alice", "POST /api/sessions", (400,), (FORM,), evidence("..\\\\..\\\\x.md")
    ),
    Attack(
        "evidence with a name of 8,000 bytes",
        "alice",
        "POST /api/sessions",
        (400,),
        (FORM,),
        evidence("/".join(["a" * 250] * 32) + ".md"),
    ),
    Attack(
        "evidence whose path is longer than a path may be",
        "alice",
        "POST /api/sessions",
        (400,),
        (FORM,),
        evidence("/".join(["a" * 240] * 17) + ".md"),
    ),
    Attack(
        "evidence that is a program",
        "alice",
        "POST /api/sessions",
        (400,),
        (FORM,),
        evidence("a.md", "\x7fELF\x00\x01\xff"),
    ),
    Attack("evidence named as a secret", "alice", "POST /api/sessions", (400,), (FORM,), evidence(".env", "KEY=1")),
]

FILES = [
    Attack(f"a setting that names a file, {door}", "alice", request, (400,), (JSON,), body)
    for door, request, body in (
        ("web", "POST /api/sessions", '{"question":"x?","protocol":"competition","settings":{"format":"/etc/passwd"}}'),
        (
            "web, a persona",
            "POST /api/sessions",
            '{"question":"x?","protocol":"competition","settings":{"personalities":"/etc/passwd"}}',
        ),
        (
            "estimate",
            "POST /api/estimate",
            '{"question":"x?","protocol":"competition","settings":{"format":"/etc/passwd"}}',
        ),
        (
            "OpenAI",
            "POST /v1/chat/completions",
            '{"model":"parley/competition","messages":[{"role":"user","content":"x?"}],"parley":{"settings":{"format":"../x"}}}',
        ),
        (
            "responses",
            "POST /v1/responses",
            '{"model":"parley/competition","input":"x?","parley":{"settings":{"format":"/etc/passwd"}}}',
        ),
    )
]

ATTACKS = [*SITES, *WHO, *PATHS, *BODIES, *FILES]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def attacked(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Target]:
    """One for all of these attacks."""
    async with target(tmp_path_factory.mktemp("attacked")) as found:
        yield found


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
async def test_one_request(attacked: Target, attack: Attack) -> None:
    name, end, *rest = attacked.cookie_of("alice").split(".")
    values = {
        "sid": attacked.finished, "open": attacked.open, "port": str(attacked.port), "alice": attacked.tokens["alice"],
        "half": attacked.tokens["alice"][:20], "digest": (attacked.keys / "alice.token").read_text().strip(),
        "other": ".".join((b"owner".hex(), end, *rest)), "later": ".".join((name, str(int(end) + 1), *rest)),
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
    if answer.status not in (400, 426) or "content-security-policy" in answer.headers:  # else the server's own answer
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-frame-options"] == "DENY" and answer.headers["x-content-type-options"] == "nosniff"


async def test_what_was_sent_left_no_session_behind(attacked: Target) -> None:
    listed = await attacked.json("owner", "GET", "/api/sessions")
    assert {row["session"] for row in listed.document["sessions"]} == {attacked.finished, attacked.open}
    assert len(ATTACKS) >= 40 and len({attack.name for attack in ATTACKS}) == len(ATTACKS)
