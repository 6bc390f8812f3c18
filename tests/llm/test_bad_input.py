"""Mistakes about models at the command line: each named in its own words, with its exit status, and nothing left."""

import asyncio
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.llm.aimock import Aimock, aimock
from tests.llm.debate import QUESTION, variables
from tests.llm.server import fails, model_server
from tests.llm.support import PROSE
from tests.parley.support import Front

pytestmark = [pytest.mark.slow]
KEY = "sk-secret-0123456789"
OPENAI = {"LLM_PROVIDER": "openai", "LLM_MODEL": "gpt-5"}
LOCAL = {"LLM_PROVIDER": "ollama", "LLM_MODEL": "m"}
WHO = "parley: agent panelist_1: "

BAD: dict[str, tuple[dict[str, str], str]] = {
    "no key of one seat": (
        {"PANELIST_2_LLM_PROVIDER": "anthropic", "PANELIST_2_LLM_MODEL": "claude-sonnet-4-6"},
        "parley: agent panelist_2: provider anthropic needs a key: set ANTHROPIC_API_KEY or PANELIST_2_LLM_API_KEY",
    ),
    "no language model, and where it is": (
        {"ANALYST_LLM_PROVIDER": "extractive", "ANALYST_LLM_BASE_URL": "http://127.0.0.1:1/v1"},
        "parley: agent analyst: ANALYST_LLM_PROVIDER is extractive, which has no address, and ANALYST_LLM_BASE_URL",
    ),
    "a key in the address": (
        {**LOCAL, "LLM_BASE_URL": f"http://me:{KEY}@127.0.0.1/v1"},
        f"{WHO}options.base_url: keys do not belong in an address; set LLM_API_KEY",
    ),
}


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Front:
    return Front(tmp_path_factory.mktemp("bad"))


def refused(front: Front, env: dict[str, str], why: str) -> None:
    """Exit status 2, one line that says why, and nothing was started."""
    code, out, err = front.run("ask", QUESTION, "--json", env=env)
    assert code == 2, err
    assert err.startswith(why) and len(err.splitlines()) == 1, err
    assert f"parley: {json.loads(out)['error']['message']}" == err.rstrip("\n")
    assert KEY not in out + err
    assert not front.state.exists() and front.left() == []


@pytest.mark.parametrize("case", BAD)
def test_a_mistake_is_named_and_nothing_is_started(front: Front, case: str) -> None:
    refused(front, *BAD[case])


def test_a_server_that_is_not_there(front: Front) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        refused(front, {**LOCAL, "LLM_BASE_URL": url}, f"{WHO}provider ollama at {url} cannot be used: ")


async def test_a_key_that_is_not_taken(front: Front) -> None:
    async with model_server(fails(401, f"no such key: {KEY}")) as server:
        env = {**OPENAI, "LLM_API_KEY": KEY, "LLM_BASE_URL": server.url, "LLM_PROVIDER": "openai_compatible"}
        why = f"{WHO}provider openai_compatible at {server.url} cannot be used: HTTP 401, no such key: ***"
        await asyncio.to_thread(refused, front, env, why)


def test_a_bad_line_of_dotenv_is_named_by_its_number_everywhere(tmp_path: Path) -> None:
    front = Front(tmp_path)
    (tmp_path / ".env").write_text(f"# models\n\nLLM_PROVIDER=ollama\nLLM_API_KEY {KEY}\n")
    why = "parley: .env, line 4: this is no assignment, expected NAME=value or # a comment\n"
    for command in (("ask", QUESTION), ("ask", QUESTION, "--dry-run"), ("up",)):
        assert front.run(*command) == (2, "", why)
    code, out, err = front.run("doctor")
    assert code == 1 and out.count("missing      .env, line 4") == 1 and out.endswith("1 to mend.\n")
    assert KEY not in out + err and front.left() == []


async def test_what_counts_as_free_for_want_of_a_price_is_told_once(tmp_path: Path) -> None:
    front = Front(tmp_path)
    async with model_server(fails(400, "no")) as server:
        env = {"LLM_BASE_URL": server.url, "LLM_MODEL": "dearest"}
        code, _, err = await asyncio.to_thread(front.run, "ask", QUESTION, "--ephemeral", "--plain", env=env)
        assert code == 1 and len([line for line in err.splitlines() if "no price is known" in line]) == 1
        assert "Counted as free, since no price is known (or none is taken): panelist_1, panelist_2," in err
        _, table, _ = await asyncio.to_thread(front.run, "ask", QUESTION, "--dry-run", env=env)
        assert "0.0000" not in table and table.count("not known") >= 4
        up = front.start("up", env=env)
        try:
            assert up.stderr is not None and up.stdout is not None
            await asyncio.to_thread(up.stdout.readline)
            told = await asyncio.to_thread(up.stderr.readline)
        finally:
            up.terminate()
            _, more = await asyncio.to_thread(up.communicate)
    seats = "panelist_1, panelist_2, panelist_3, analyst"
    assert told == f"no price is known, calls count as free of charge: dearest ({seats})\n"
    assert "no price" not in more


@pytest.fixture
def talker(tmp_path: Path) -> Iterator[Aimock]:
    with aimock(tmp_path, [{"match": {"userMessage": "question"}, "response": {"content": PROSE}}]) as found:
        yield found


@pytest.mark.parametrize("protocol, turns", [("consensus", 3), ("critic", 2)])
def test_a_model_that_answers_prose_for_ever(talker: Aimock, tmp_path: Path, protocol: str, turns: int) -> None:
    """Each turn is asked once, with one repair, and asked again in vain; then the session fails, and says why."""
    front = Front(tmp_path)
    code, out, err = front.run("ask", QUESTION, "--json", "--protocol", protocol, env=variables(talker.url))
    assert code == 1, err
    found = json.loads(out)
    assert (found["status"], found["stop"]["reason"]) == ("failed", "quorum")
    assert found["usage"]["calls"] == 2 * turns
    why = front.run("explain", found["session"])[1]
    assert "gave no usable reply, also after a repair: there is no JSON object" in why, why
    front.assert_nothing_left()
