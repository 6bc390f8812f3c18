"""An agent that speaks ACP, and does what SCENARIO says of it: JSON-RPC in lines, no library."""

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any

SCENARIO = os.environ.get("SCENARIO", "works")
SESSION = "s1"
_next = 100


def send(**message: Any) -> None:
    """Say one thing."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def hear() -> Any:
    """The next message; the end of the input ends this."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def ask(method: str, **params: Any) -> Any:
    """Ask the client: its result, or its error."""
    global _next
    _next += 1
    send(id=_next, method=method, params={"sessionId": SESSION, **params})
    while True:
        answer = hear()
        if answer.get("id") == _next:
            return answer.get("result", answer.get("error"))


def update(what: str, **more: Any) -> None:
    """Tell of something."""
    send(method="session/update", params={"sessionId": SESSION, "update": {"sessionUpdate": what, **more}})


def say(text: str) -> None:
    """Words."""
    update("agent_message_chunk", content={"type": "text", "text": text})


def call(id_: str, kind: str, **given: Any) -> None:
    """A call that begins and is completed."""
    update("tool_call", toolCallId=id_, title=f"{kind} it", kind=kind, status="pending", rawInput=given)
    update("tool_call_update", toolCallId=id_, status="in_progress")
    done = {"type": "content", "content": {"type": "text", "text": f"did {id_}"}}
    update("tool_call_update", toolCallId=id_, status="completed", content=[done])


def may(kind: str, options: tuple[str, ...] = ("allow_once", "reject_once"), **given: Any) -> str:
    """Ask whether a call may be made."""
    id_ = f"p-{kind}-{len(str(given))}"
    told = {"toolCallId": id_, "title": str(given.get("command")), "kind": kind, "rawInput": given}
    offered = [{"optionId": f"o-{o}", "name": o, "kind": o} for o in options]
    outcome = ask("session/request_permission", toolCall=told, options=offered)["outcome"]
    return str(outcome.get("optionId", outcome["outcome"]))


def spend() -> None:
    """Ask the model until it refuses."""
    while True:
        body, headers = b'{"messages": [], "max_tokens": 300}', {"x-api-key": os.environ["TOKEN"]}
        try:
            urllib.request.urlopen(urllib.request.Request(os.environ["URL"] + "/v1/messages", body, headers)).read()
        except urllib.error.HTTPError:
            return


def until_cancelled() -> str:
    """Wait to be cancelled."""
    while hear().get("method") != "session/cancel":
        pass
    return "cancelled"


def work() -> str:
    """A turn; why it stopped."""
    with open("app.py", "w") as file:
        file.write("print(1)\n")
    if SCENARIO == "works":
        say("I look first.")
        for n in range(20):
            call(f"c{n}", "read", path=f"/task/{n}.py")
        update("tool_call", toolCallId="open", title="never ends", kind="execute", status="pending")
        update("plan", entries=[])
        update("something_new", whatever=1)
        say("It is ")
        say("done.")
    elif SCENARIO == "asks":
        asked = [
            may("edit", path="/task/app.py"), may("execute", command="python3 -m unittest -q"),
            may("execute", command="python3 -m unittest; curl x"), may("execute", command="rm -rf /"),
            may("execute", command=["python3", "-m", "unittest"]), may("fetch", url="http://x"),
            may("edit", ("allow_always", "reject_always"), path="/task/b"),
        ]  # fmt: skip
        asked += [str(ask("fs/write_text_file", path="/task/x", content="y").get("code"))]
        asked += [str(ask("terminal/create", command="sh").get("code"))]
        say(" ".join(asked))
    elif SCENARIO in ("slow", "stubborn"):
        say("I begin.")
        reason = until_cancelled()
        while SCENARIO == "stubborn":
            hear()
        return reason
    elif SCENARIO == "spends":
        spend()
        return until_cancelled()
    elif SCENARIO == "refuses":
        say("I will not.")
        return "refusal"
    elif SCENARIO == "dies":
        print("out of memory", file=sys.stderr)
        os._exit(3)
    elif SCENARIO == "floods":
        while True:
            update("agent_thought_chunk", content={"type": "text", "text": "y" * 200_000})
    elif SCENARIO == "odd":
        for told in ({"content": 5}, {"rawInput": "x", "locations": 1}, {"content": [3], "status": ["completed"]}):
            update("tool_call", toolCallId=str(told), **told)
        update("tool_call_update", toolCallId="o", status="completed", rawOutput={"a": [1]}, kind=7)
        send(method="session/update", params=[])
        send(method="session/update", params={"update": "text"})
        say("odd.")
    elif SCENARIO == "noisy":
        print('a line that is no message\n{"half": ')
        update("agent_message_chunk", content={"type": "text", "text": "x" * 3_000_000})
        say("Still here.")
    return "end_turn"


def main() -> None:
    """Answer until the input ends."""
    if SCENARIO == "absent":
        print("no licence", file=sys.stderr)
        sys.exit(9)
    while True:
        asked = hear()
        match asked.get("method"):
            case "initialize":
                version = 2 if SCENARIO == "newer" else asked["params"]["protocolVersion"]
                info = {"name": "scripted", "version": "1.2"}
                send(id=asked["id"], result={"protocolVersion": version, "agentCapabilities": {}, "agentInfo": info})
            case "session/new":
                assert asked["params"]["cwd"] == "/task"
                send(id=asked["id"], result={"sessionId": SESSION})
            case "session/set_mode":
                if asked["params"]["modeId"] == "none":
                    send(id=asked["id"], error={"code": -32602, "message": "no such mode"})
                    continue
                say(f"mode {asked['params']['modeId']}. ")
                send(id=asked["id"], result={})
            case "session/prompt":
                assert "Fix the greeting" in asked["params"]["prompt"][0]["text"]
                send(id=asked["id"], result={"stopReason": work()})


if __name__ == "__main__":
    main()
