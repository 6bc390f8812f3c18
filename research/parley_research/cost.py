"""What a debate costs: calls, the longest chain of them, characters and tokens, on an endpoint that records them.

    python -m parley_research.cost [consensus|competition ...]

Real sessions on a whole stack, a model for each seat: the model `openai`, whose server is here. It records each
request and replies by a script: who answers what in which round. Characters are those of the messages and of the
schema; tokens are a quarter of the characters of request and reply. The chain is the longest path of turns of which
each was asked because another was answered, by the session's log.
"""

import asyncio
import contextlib
import json
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from parley.client.protocols.competition import files
from parley.schemas.log import Ask, Entry, Replied
from parley.schemas.session import OpenSession
from parley.schemas.wire import decode
from parley.stack.lease import Stack
from parley.stack.rows import rows_of
from parley_research.benchmarks.debates import Bench, bench
from parley_research.benchmarks.prompts import Words

QUESTION = "In which year was the Suez Canal opened for ships? Answer with the year alone, please."
MOTION = "This house would measure before it argues."
LATENCY_S = 0.05
_POST = re.compile(r"\[\[BEGIN \w+ post (\d+), position, round \d+\]\]\n(\{.*?\n\})\n\[\[END", re.S)
_STATE = re.compile(r"\[\[BEGIN \w+ state of the debate\]\]\n(\{.*?\n\})\n\[\[END", re.S)
_LIMIT = re.compile(r"At most ([\d,]+) words")


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """A session of three members."""

    name: str
    rounds: tuple[tuple[str, str, str], ...]
    """What the members answer round by round; the last one lasts."""
    settings: dict[str, Any] = {}
    most: tuple[int, int]
    """Calls and chain that it may take."""


SAME, OTHER_WORDS = ("1869",) * 3, ("1869", "In 1869", "The year 1869")
TWO_TO_ONE, THREE = ("1869", "1869", "1870"), ("1869", "1870", "1871")
SCENES = (
    Scene(name="the same words", rounds=(SAME,), most=(3, 1)),
    Scene(name="the same in other words", rounds=(OTHER_WORDS,), most=(6, 3)),
    Scene(name="2:1, the third adopts", rounds=(TWO_TO_ONE, SAME), most=(7, 3)),
    Scene(name="2:1, the third adopts in its own words", rounds=(TWO_TO_ONE, ("1869", "1869", "In 1869")), most=(9, 5)),
    Scene(name="three answers that last", rounds=(THREE,), most=(10, 4)),
    Scene(name="the same, stuck_rounds=2", rounds=(THREE,), settings={"stuck_rounds": 2}, most=(7, 3)),
    Scene(name="2:1 that lasts", rounds=(TWO_TO_ONE,), most=(15, 7)),
    Scene(name="a vote of 2:1", rounds=(TWO_TO_ONE,), settings={"round_limit": 1}, most=(3, 1)),
)
SPEECHES = {"speeches of a few words": 0.0, "speeches of nine tenths of their words": 0.9}
COMPETITION = (120, 90)


class Cost(msgspec.Struct, frozen=True, kw_only=True):
    """What one session came to."""

    name: str
    calls: int
    chain: int
    characters: int
    tokens: int
    by_kind: dict[str, int]
    """Kind of turn -> characters of its largest request."""
    ended: str
    most: tuple[int, int]


class Endpoint:
    """The server of all models. A request's model is its seat."""

    def __init__(self) -> None:
        self.url = ""
        self.scene: Scene = SCENES[0]
        self.share = 0.0
        self.sent: list[tuple[str, int, int]] = []
        """(kind, characters of the request, characters of the reply)."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length:")[2].partition("\r\n")[0] or 0)
                body = json.loads(await reader.readexactly(length) or b"{}")
                writer.write(await self._answer(body) if "messages" in body else _http(b'{"data": []}'))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, body: dict[str, Any]) -> bytes:
        wanted = body["response_format"]["json_schema"]
        kind, prompt = wanted["name"], "\n\n".join(m["content"] for m in body["messages"])
        schema = json.dumps(wanted["schema"], separators=(",", ":"))
        given = self._said(body["model"], kind, prompt, wanted["schema"]["properties"])
        reply = json.dumps(
            {name: given.get(name, _least(node)) for name, node in wanted["schema"]["properties"].items()}
        )
        self.sent.append((kind, len(prompt) + len(schema), len(reply)))
        await asyncio.sleep(LATENCY_S)
        if not body.get("stream"):
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": reply}}
            return _http(json.dumps({"object": "chat.completion", "choices": [choice]}).encode())
        delta = {"choices": [{"index": 0, "delta": {"content": reply}, "finish_reason": "stop"}]}
        return _http(f"data: {json.dumps(delta)}\n\ndata: [DONE]\n\n".encode(), "text/event-stream")

    def _said(self, seat: str, kind: str, prompt: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        say = Words(f"{seat} {len(self.sent)}")
        match kind:
            case "answer" | "revise" if seat.startswith("panelist"):
                return self._position(seat, prompt)
            case "compare":
                return _compared(prompt, fields)
            case "conclude":
                answer = _year(json.loads(_STATE.findall(prompt)[0])["answer"])
                return {"reasoning": "So most say.", "answer": f"It was opened in {answer}."}
            case "sign":
                return _signed(json.loads(_STATE.findall(prompt)[0]))
            case "confer":
                return {"text": f"{seat}: {say(60)}"}
            case "question":
                return {"questions": [say(8) for _ in range(3)]}
            case "speak" | "answer":
                limit = int(_LIMIT.findall(prompt)[0].replace(",", ""))
                return {"text": say(max(12, int(self.share * limit)))}
            case "score":
                return dict.fromkeys(("logic", "persuasion", "expression", "teamwork", "rule_compliance"), 6)
        return {"text": say(60), "direction": say(12)}

    def _position(self, seat: str, prompt: str) -> dict[str, Any]:
        found = re.findall(r"This is round (\d+)", prompt)
        n, member = int(found[0]) if found else 1, int(seat[-1]) - 1
        answers = [round_[member] for round_ in self.scene.rounds]
        answer = answers[min(n, len(answers)) - 1]
        before = answers[min(n - 1, len(answers)) - 1] if n > 1 else answer
        why = f"The usual histories tell that the first convoy passed in {_year(answer)}, and give the day of it."
        moved = {} if _year(before) == _year(answer) else {"change": "adopted"}
        return {"answer": answer, "reasoning": why, "confidence": 0.8, "change": "kept", "change_reason": why, **moved}


def _year(text: str) -> str:
    return str(re.findall(r"\d{4}", text)[0])


def _compared(prompt: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    posts = set(fields["groups"]["items"]["properties"]["posts"]["items"]["enum"])
    said = {int(n): _year(json.loads(body)["answer"]) for n, body in _POST.findall(prompt)}
    years = sorted(set(said.values()))
    groups = [{"label": year, "posts": [n for n in said if n in posts and said[n] == year]} for year in years]
    apart = [f"Whether it was {years[0]} or {year}." for year in years[1:]]
    return {"groups": [g for g in groups if g["posts"]], "approach": 60, "priority": 60, "key_disagreements": apart}


def _signed(brief: Mapping[str, Any]) -> dict[str, Any]:
    offered = {place: brief[place]["sentence"] for place in ("first", "second") if place in brief}
    own = _year(brief["yours"])
    mine = next((place for place, sentence in offered.items() if _year(sentence) == own), "neither")
    other = next((sentence for place, sentence in offered.items() if place != mine), "")
    return {"states": mine, "differs": other}


def _least(node: Mapping[str, Any]) -> Any:
    """The shortest value that a schema allows."""
    if "enum" in node:
        return node["enum"][0]
    if "anyOf" in node:
        return None
    match node.get("type"):
        case "array":
            return []
        case "string":
            return "x" * int(node.get("minLength", 0))
        case "boolean":
            return False
        case "object":
            return {name: _least(child) for name, child in node["properties"].items()}
    return node.get("minimum", 1)


def _http(body: bytes, kind: str = "application/json") -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


@asynccontextmanager
async def endpoint() -> AsyncIterator[Endpoint]:
    """The server, on a free port."""
    made = Endpoint()
    listening = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    async with listening:
        yield made


def _stack(protocol: str, settings: Mapping[str, Any], url: str) -> Stack:
    def row(queue: str, made: Any) -> Any:
        options = {"provider": "openai_compatible", "base_url": url, "model": queue}
        return msgspec.structs.replace(made, model="openai", options=options, process="seats")

    return Stack(agents=tuple(row(r.queue, r) for r in rows_of(protocol, settings=dict(settings))), log_level="ERROR")


def chain(entries: Sequence[Entry]) -> int:
    """The longest path of turns of which each was asked because another was answered."""
    depth: dict[str, int] = {}
    for e in entries:
        cause = depth.get(e.event.turn, 0) if isinstance(e.event, Replied) else 0
        for i, command in enumerate(e.commands):
            if isinstance(command, Ask):
                depth[f"{e.n}-{i}"] = cause + 1
    return max(depth.values(), default=0)


async def _played(running: Bench, made: Endpoint, name: str, request: OpenSession, most: tuple[int, int]) -> Cost:
    made.sent.clear()
    sid, result = await running.play(request)
    entries = [decode(text.encode(), Entry) for text in await running.client().log(sid)]
    sent = list(made.sent)
    return Cost(
        name=name, calls=len(sent), chain=chain(entries), characters=sum(asked for _, asked, _ in sent),
        tokens=sum(asked + replied for _, asked, replied in sent) // 4,
        by_kind={kind: max(asked for k, asked, _ in sent if k == kind) for kind, _, _ in sent},
        ended=str(result.stop.reason), most=most,
    )  # fmt: skip


async def consensus() -> list[Cost]:
    """Every scene."""
    found = []
    async with endpoint() as made, bench(_stack("consensus", {"panel": 3}, made.url)) as running:
        for scene in SCENES:
            made.scene = scene
            request = OpenSession(
                question=QUESTION, protocol="consensus", settings={"panel": 3, **scene.settings}, seed=1,
                turn_timeout_s=600.0,
            )  # fmt: skip
            found.append(await _played(running, made, scene.name, request, scene.most))
    return found


async def competition() -> list[Cost]:
    """The whole default competition."""
    found, settings = [], files.whole({})
    async with endpoint() as made, bench(_stack("competition", settings, made.url)) as running:
        for name, share in SPEECHES.items():
            made.share = share
            request = OpenSession(
                question=MOTION, protocol="competition", settings=settings, seed=1, turn_timeout_s=600.0
            )
            found.append(await _played(running, made, name, request, COMPETITION))
    return found


def lines(found: Sequence[Cost]) -> list[str]:
    """For people."""
    head = f"{'':<42} {'calls':>6} {'chain':>6} {'at most':>9} {'characters':>11} {'tokens':>9}  ended by"
    return [
        head,
        *(
            f"{c.name:<42} {c.calls:>6} {c.chain:>6} {f'{c.most[0]} / {c.most[1]}':>9} {c.characters:>11,} "
            f"{c.tokens:>9,}  {c.ended}; largest: {', '.join(f'{k} {n:,}' for k, n in c.by_kind.items())}"
            for c in found
        ),
    ]


PLAYS = {"consensus": consensus, "competition": competition}


def main(protocols: Sequence[str]) -> None:
    """Play and print. No model of the caller is asked: its variables and its `.env` are not read."""
    if unknown := [p for p in protocols if p not in PLAYS]:
        raise SystemExit(f"usage: python -m parley_research.cost [{'|'.join(PLAYS)} ...]; got {' '.join(unknown)}")
    for name in [name for name in os.environ if "LLM_" in name.upper()]:
        del os.environ[name]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for protocol in protocols or PLAYS:
            print(protocol)
            print("\n".join(lines(asyncio.run(PLAYS[protocol]()))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
