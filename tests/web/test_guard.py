"""Who comes through the guard: hosts, origins, tokens, cookies, links, rates and sizes."""

from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from parley.bus.accounts import Credentials, User, mint
from parley.client.errors import BadInput
from parley.web.app import Config, Door, build
from parley.web.errors import JsonResponse
from parley.web.guard import BODY, BURST, UNKNOWN_BURST
from parley.web.principals import COOKIE_S, LINK_S, LOCAL_TOKEN, Principals, digest, new_token

HOST = "parley.test"
KEY = bytes(32)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


async def _who(request: Request) -> Response:
    body = await request.body()
    return JsonResponse({"who": request.state.principal.name, "bytes": len(body)})


DOOR = Door(routes=(Route("/who", _who, methods=["GET", "POST"]),))


def _credentials(name: str = "owner", kind: str = "owner") -> Credentials:
    return mint([User(name=name, kind=kind, account="CLIENTS")])[name]


def _gateway(principals: Principals, *, secure: bool = False) -> TestClient:
    """No bus is asked for anything here, so none is there."""
    app = build(Config(url="nats://127.0.0.1:1", hosts=(HOST,), secure=secure), principals, (DOOR,))
    return TestClient(app, base_url=f"http://{HOST}", follow_redirects=False)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def local(clock: Clock) -> Principals:
    """One principal, let in by a link."""
    return Principals(KEY, local=_credentials(), clock=clock)


def test_a_link_sets_the_cookie_once(local: Principals, clock: Clock) -> None:
    code = local.link()
    with _gateway(local) as http:
        first = http.get(f"/login?code={code}")
        assert first.status_code == 303
        said = first.headers["set-cookie"].lower()
        assert "httponly" in said and "samesite=strict" in said
        assert http.get("/who").json()["who"] == "local"
        assert http.get("/who", headers={"Authorization": "Bearer x"}).status_code == 401, "a token wins over it"
        http.cookies.clear()
        assert http.get(f"/login?code={code}").status_code == 401
        late = local.link()
        clock.now += LINK_S + 1
        assert http.get(f"/login?code={late}").status_code == 401, "it is over after its time"


def test_by_https_the_cookie_is_the_hosts_own_and_one_of_its_domain_counts_for_nothing(local: Principals) -> None:
    principal = local.redeem(local.link())
    assert principal is not None
    with _gateway(local, secure=True) as http:
        said = http.get(f"/login?code={local.link()}").headers["set-cookie"]
        assert said.startswith("__Host-parley=") and "; Secure" in said and "Path=/" in said and "Domain" not in said
        value = said.partition("=")[2].partition(";")[0]
        http.cookies.clear()
        tossed = f"parley={local.cookie(principal)}"
        assert http.get("/who", headers={"Cookie": tossed}).status_code == 401
        assert http.get("/who", headers={"Cookie": f"{tossed}; __Host-parley={value}"}).json()["who"] == "local"
        assert http.post("/logout", headers={"Cookie": f"__Host-parley={value}"}).status_code == 303
        assert http.get("/who", headers={"Cookie": f"__Host-parley={value}"}).status_code == 401
        other = {"Cookie": f"__Host-parley={local.cookie(principal)}"}
        assert http.get("/who", headers=other).is_success, "another browser stays signed in"


def test_a_link_leads_to_a_session_of_this_gateway_and_nowhere_else(local: Principals) -> None:
    with _gateway(local) as http:
        for session in ("1f2e3d4c5b6a79880716", "//evil.test", "../evil", "http:evil.test", "a%0d%0ab", ""):
            answer = http.get(f"/login?code={local.link()}&session={session}")
            wanted = f"/s/{session}" if session.isalnum() else "/"
            assert answer.status_code == 303 and answer.headers["location"] == wanted


def test_a_cookie_is_over_after_its_time_and_holds_for_no_other_name(local: Principals, clock: Clock) -> None:
    principal = local.redeem(local.link())
    assert principal is not None
    value = local.cookie(principal)
    assert local.of_cookie(value) == principal
    name, end, number, signature = value.split(".")
    assert local.of_cookie(f"{b'other'.hex()}.{end}.{number}.{signature}") is None
    assert local.of_cookie(f"{name}.{int(end) + 1}.{number}.{signature}") is None
    other, strange = (Principals(key, local=principal.credentials, clock=clock) for key in (KEY, bytes([1]) * 32))
    assert other.of_cookie(value) == principal, "each copy knows it"
    assert strange.of_cookie(value) is None
    clock.now += COOKIE_S + 1
    assert local.of_cookie(value) is None


def test_a_token_of_the_folder_is_a_user_of_the_bus(tmp_path: Path, clock: Clock) -> None:
    _credentials("alice", "client").save(tmp_path / "alice.json")
    token = new_token(tmp_path / "alice.json")
    assert token not in (tmp_path / "alice.token").read_text()
    principals = Principals(KEY, folder=tmp_path, clock=clock)
    with _gateway(principals) as http:
        assert http.get("/who", headers={"Authorization": f"Bearer {token}"}).json()["who"] == "alice"
        assert http.get("/who", headers={"Authorization": "Bearer x"}).status_code == 401
        assert http.get("/who", headers={"Authorization": f"Basic {token}"}).status_code == 401


def test_the_local_token_is_of_the_key_and_of_nothing_else(local: Principals) -> None:
    owner = _credentials()
    one, same, other = (Principals(key, local=owner) for key in (KEY, KEY, bytes([1]) * 32))
    token = one.local_token()
    assert token.startswith(LOCAL_TOKEN) and same.of_token(token) is not None and other.of_token(token) is None
    assert one.of_token("") is None and one.of_token(token[:-1]) is None and one.of_token("é") is None


def test_a_token_that_is_replaced_takes_its_cookies_with_it(tmp_path: Path, clock: Clock) -> None:
    _credentials("alice", "client").save(tmp_path / "alice.json")
    token = new_token(tmp_path / "alice.json")
    principals = Principals(KEY, folder=tmp_path, clock=clock)
    alice = principals.of_token(token)
    assert alice is not None
    cookie = principals.cookie(alice)
    (tmp_path / "alice.token").unlink()
    new_token(tmp_path / "alice.json")
    clock.now += 10
    assert principals.of_token(token) is None
    assert principals.of_cookie(cookie) is None


@pytest.mark.parametrize("kind", ["moderator", "operator", "observer"])
def test_services_are_no_principals(tmp_path: Path, kind: str) -> None:
    account = {"moderator": "CORE", "operator": "SYS", "observer": "OBSERVERS"}[kind]
    mint([User(name="it", kind=kind, account=account)])["it"].save(tmp_path / "it.json")
    with pytest.raises(BadInput, match=kind):
        new_token(tmp_path / "it.json")
    (tmp_path / "it.token").write_text(digest("x"))
    with pytest.raises(BadInput, match=kind):
        Principals(KEY, folder=tmp_path)


def test_other_hosts_and_pages_of_other_sites_are_refused(local: Principals) -> None:
    with _gateway(local) as http:
        http.get(f"/login?code={local.link()}")
        for host in ("evil.test", "parley.test.evil.test", "", "127.0.0.1", "[::1", f"{HOST}@evil.test:80"):
            assert http.get("/healthz", headers={"Host": host}).status_code == 421, host
        for host in (f"{HOST}:8080", HOST.upper()):
            assert http.get("/healthz", headers={"Host": host}).status_code == 200, host
        for headers in (
            {"Origin": "http://evil.test"},
            {"Origin": "null"},
            {"Origin": f"http://{HOST}:81"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"},
            {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"},
            {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"},
        ):
            assert http.get("/who", headers=headers).status_code == 403, headers
        headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        assert http.post("/who", headers=headers).status_code == 403
        assert http.post("/who", headers={"Origin": f"http://{HOST}", "Sec-Fetch-Site": "same-origin"}).is_success


def test_tokens_cannot_be_guessed_fast(local: Principals) -> None:
    with _gateway(local) as http:
        seen = {http.get("/who", headers={"Authorization": f"Bearer {i}"}).status_code for i in range(UNKNOWN_BURST)}
        assert seen == {401}
        assert http.get("/who", headers={"Authorization": "Bearer more"}).status_code == 429
        assert http.get("/login?code=guess").status_code == 429
        elsewhere = {"Authorization": "Bearer more", "X-Forwarded-For": "10.9.9.9"}
        assert http.get("/who", headers=elsewhere).status_code == 429, (
            "an address that a client names counts for nothing"
        )


def test_the_files_of_a_page_count_against_no_rate_and_are_asked_for_by_their_etag(local: Principals) -> None:
    with _gateway(local) as http:
        http.get(f"/login?code={local.link()}")
        path = "/static/js/app.js"
        first = http.get(path)
        assert first.headers["cache-control"] == "no-cache" and first.headers["etag"]
        same = {"If-None-Match": first.headers["etag"]}
        assert {http.get(path, headers=same).status_code for _ in range(BURST + 100)} == {304}
        assert http.get("/who").status_code == 200, "what was left of the rate is all there"
        assert http.get(path, headers={"If-None-Match": '"of another release"'}).content == first.content
        http.cookies.clear()
        strange = {"Authorization": "Bearer guess"}
        assert {http.get(path, headers=strange).status_code for _ in range(UNKNOWN_BURST + 5)} == {200}
        assert http.get("/who", headers=strange).status_code == 401
        assert http.get("/static/../app.py").status_code in (401, 404)


def test_a_principal_has_a_rate_and_a_body_a_limit_while_it_is_read(local: Principals) -> None:
    with _gateway(local) as http:
        http.get(f"/login?code={local.link()}")
        assert http.post("/who", content=b"x" * BODY).json()["bytes"] == BODY
        assert http.post("/who", content=(b"x" * 65_536 for _ in range(BODY // 65_536 + 2))).status_code == 413
        statuses = [http.get("/who").status_code for _ in range(BURST - 2)]
        assert statuses == [200] * (BURST - 2)
        while statuses[-1] != 429:  # a slow machine asks little more than the rate allows
            statuses.append(http.get("/who").status_code)
        assert set(statuses) == {200, 429}


def test_every_answer_forbids_what_a_page_does_not_need_and_a_stranger_is_led_to_sign_in(local: Principals) -> None:
    with _gateway(local) as http:
        for path in ("/healthz", "/who", "/login", "/static/login.html", "/nothing"):
            headers = http.get(path).headers
            policy = headers["content-security-policy"]
            assert "unsafe" not in policy and "default-src 'none'" in policy, path
            assert headers["x-content-type-options"] == "nosniff"
            assert "access-control-allow-origin" not in headers
        page = {"Accept": "text/html"}
        led = http.get("/who", headers=page)
        assert (led.status_code, led.headers["location"]) == (303, "/login"), "who visits a page is led to sign in"
        failed = http.post("/login", data={"token": "no"}, headers=page)
        assert failed.status_code == 401 and "That token is not valid." in failed.text and "<form" in failed.text
        assert "{failed}" not in http.get("/login", headers=page).text
