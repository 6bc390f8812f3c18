"""The door that calls out: to a real receiver, which checks signatures with somebody else's library."""

import json
import re
import signal
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.parley.support import Front, until
from tests.support.expert_model import expert_model
from tests.support.gateway import Served, copy, serving
from tests.web.doors.support import ASKS, SECRET, TASK, Receiver

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]
ENV = {"PARLEY_WEBHOOK_SECRET": SECRET}


def hooked(receiver: Receiver, *more: str) -> tuple[str, ...]:
    return ("--door", "webhook", "--set", f"doors.webhook.url={receiver.url}/hook", *more)


def ask(served: Served, text: str, **more: object) -> str:
    """A session of the page; its id."""
    with httpx.Client(base_url=served.url, headers={"Authorization": f"Bearer {served.token}"}, timeout=60) as http:
        answer = http.post("/api/sessions", json={"question": text, **more})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["session"])


def asked(front: Front, text: str) -> str:
    """A session of the command line; its id."""
    code, out, err = front.run("ask", text, "--evidence", str(front.evidence), "--json")
    assert code in (0, 3), err
    return str(json.loads(out)["session"])


def test_an_ended_session_and_an_open_item_are_told_and_the_link_answers_once(tmp_path: Path) -> None:
    with Receiver(lambda n: 503 if n == 0 else 302 if n == 1 else 204) as receiver, expert_model() as env:
        public = ("--set", "doors.webhook.public_url=http://127.0.0.1")
        with serving(tmp_path, *hooked(receiver, *public), env={**env, **ENV}) as served:
            sid = ask(served, TASK, protocol="madp", settings=ASKS)
            until(lambda: len(receiver.of(sid)) > 2, lambda: f"{receiver.heard}", 40)
            item = receiver.heard[2]
            assert [told["id"] for told in receiver.heard] == [f"{sid}.item.{item['item']}"] * 3, "until it is heard"
            assert len(set(receiver.bodies)) == 1 and item["type"] == "item.open" and "stop" in item["choices"]
            link = served.url + re.sub(r"^http://127.0.0.1", "", item["answer_url"])
            with httpx.Client() as person:
                form = person.get(link)
                assert form.status_code == 200 and 'value="stop"' in form.text and "Without an answer" in form.text
                assert person.post(link, data={"choice": "perhaps"}).status_code == 409
                for n in range(len(link) - 90, len(link) - 3, 7):  # somewhere in the seal, or in what it seals
                    forged = f"{link[:n]}{'A' if link[n] != 'A' else 'B'}{link[n + 1 :]}"
                    assert person.post(forged, data={"choice": "stop"}).status_code == 404
                assert person.post(link, data={"choice": "stop"}).status_code == 200
                assert person.post(link, data={"choice": "go on"}).status_code == 410, "it answers once"
                assert person.get(link).status_code == 410
            until(lambda: receiver.of(sid)[-1]["type"] == "session.closed", "its end is not told", 40)
            ended = receiver.heard[-1]
            assert (ended["id"], ended["status"], ended["question"]) == (f"{sid}.closed", "failed", TASK)
            assert ended["verdict"].startswith("Failed: ") and ended["stop"]["reason"] == "rejected"


def test_a_sender_that_dies_tells_what_it_had_not_and_repeats_by_the_same_id(tmp_path: Path) -> None:
    killed: list[object] = []
    with Receiver(lambda n: (killed[0].kill(), 500)[1] if n == 0 else 204) as receiver:  # type: ignore[attr-defined]
        front = Front(tmp_path, protocol="consensus", env=ENV)
        until_told = hooked(receiver)
        child = front.start("serve", "--json", *until_told)
        killed.append(child)
        assert child.stdout is not None and child.stdout.readline()
        asked(front, "What is the capital?")
        child.communicate(timeout=60)
        assert child.returncode == -signal.SIGKILL
        unheard = asked(front, "Which river?")
        with copy(front, *until_told):
            until(lambda: len(receiver.heard) > 2, lambda: f"{receiver.heard}", 40)
        first, again, second = receiver.heard
        assert first["id"] == again["id"] and receiver.bodies[0] == receiver.bodies[1]
        assert second["id"] == f"{unheard}.closed"
        with copy(front, *until_told):
            last = asked(front, "Which city?")
            until(lambda: len(receiver.heard) > 3, "the third is not told", 40)
        assert [told["session"] for told in receiver.heard[3:]] == [last], "what was heard is not told again"
    front.assert_nothing_left()
