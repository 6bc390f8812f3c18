"""The maci protocol on the real bus: a session to its end, who hears what, and replies that will not do."""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from nats.aio.msg import Msg

from parley.agents.context import Shown
from parley.agents.models import Completion, Emit, make_model
from parley.bus import channels, subjects
from parley.bus.errors import BusError, Denied
from parley.client.client import Client
from parley.coordinator.protocols import PROTOCOLS
from parley.coordinator.replay import replay
from parley.schemas import log
from parley.schemas.post import Post, ReadPosts
from parley.schemas.protocols.maci.messages import Ruled
from parley.schemas.result import Result
from parley.schemas.turn import Speak, Work
from parley.schemas.wire import decode, encode, raw
from tests.engine.test_rules import announce
from tests.llm.server import ModelServer, Request, Step, fails, model_server, says
from tests.llm.support import model
from tests.protocols.maci.simulate import example, run
from tests.support.engine import Engine, engine, until

QUESTION, DOCUMENTS, OUTCOMES = example("diagnosis")
ROLES = {"debater_1": "debater", "debater_2": "debater", "judge": "judge", "analyst": "analyst", "helper": "helper"}
JUDGES = ("judge", "judge_2", "judge_3")
MARKED = {**ROLES, "judge_2": "judge", "judge_3": "judge"}
replace = msgspec.structs.replace


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Engine]:
    """One moderator and an extractive worker for each of five queues."""
    async with engine(tmp_path, queues=ROLES) as started:
        await started.moderator()
        for queue in ROLES:
            await started.worker(queue, model=make_model("extractive"))
        yield started


async def opened(on: Engine, **settings: Any) -> None:
    """Once the moderator has heard of every queue: those that it has not heard of judge nothing."""
    client = Client(on.owner, "owner")

    async def all_there() -> bool:
        return {w.queue for w in (await client.workers()).workers} >= set(on.queues)

    await until(all_there)
    fate = await on.open(
        "s1", question=QUESTION, protocol="maci", documents=DOCUMENTS, settings={"outcomes": OUTCOMES, **settings}
    )
    assert fate.fate == "taken", fate


async def result(on: Engine) -> Result:
    return decode((await on.closed("s1", 30.0)).body, Result)


async def test_a_session_runs_to_its_agreement_as_without_a_bus(bench: Engine) -> None:
    await opened(bench)
    found = await result(bench)
    assert (found.stop.reason, found.stop.converged, found.status) == ("agreement", True, "finished")
    entries = await bench.log("s1")
    drawn = decode(entries[0].encode(), log.Entry).event
    assert isinstance(drawn, log.Opened)
    same = (await asyncio.to_thread(run, QUESTION, DOCUMENTS, OUTCOMES, seed=drawn.seed)).result
    assert (found.outcome, found.rounds) == (same.outcome, same.rounds)
    assert replay(PROTOCOLS.get, "s1", entries).session.closed
    for channel in ("public", "scores", "control"):
        posts = await bench.posts("s1", channel)
        assert [p.k for p in posts] == list(range(len(posts))) and posts, channel
    kinds = {p.kind for p in await bench.posts("s1", "scores")}
    assert kinds == {"blind", "case", "crit"}
    assert {p.kind for p in await bench.posts("s1", "public")} == {"passages", "argument", "signals", "plan"}


# ---------------------------------------------------------------- who hears what


class Marking:
    """The extractive model with a mark in everything that it says in words of its own. As judge it refuses the second
    argument of everybody."""

    name = family = "extractive"
    computes = True
    metered = False
    usd_per_million_input = usd_per_million_output = 0.0

    def __init__(self) -> None:
        self._model = make_model("extractive")
        self.shown: list[Shown] = []

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """Its reply, marked."""
        self.shown.append(shown)
        done = await self._model.reply(shown, emit)
        body: Any = done.body
        kind = "argue" if shown.kind in ("attack", "answer") else shown.kind
        mark = f"MARK-{kind}-{shown.seat}-{shown.round}"
        if shown.kind == "blind":
            body = replace(body, reasoning=f"{mark}. {body.reasoning}")
        elif kind == "argue":
            marked = (replace(a, claim=f"{a.claim} {mark}-{i}!") for i, a in enumerate(body.arguments))
            met = tuple(replace(m, why=f"{mark}-why. {m.why}") for m in body.answers)
            body = replace(body, arguments=tuple(marked), answers=met, changed=f"{mark}-why")
        elif shown.kind == "crit":
            poor = {item.item for item in shown.brief.items if item.claim.endswith("-1!")}
            scores = (replace(s, evidence=0.0, logic=0.0, relevance=0.0) if s.item in poor else s for s in body.scores)
            body = replace(body, scores=tuple(replace(s, justification=mark) for s in scores))
        return replace(done, body=body)


class Tap:
    """Every WORK message of some queues as it is published, by queue."""

    def __init__(self) -> None:
        self.sent: dict[str, list[bytes]] = {}

    async def on(self, engine: Engine, *queues: str) -> None:
        """Listen with a moderator's credentials."""
        connection = await engine.connect("moderator")
        for queue in queues:
            kept = self.sent.setdefault(queue, [])

            async def keep(msg: Msg, kept: list[bytes] = kept) -> None:
                kept.append(msg.data)

            await connection.subscribe(subjects.work_of(queue), keep)


@pytest.fixture
async def marked(tmp_path: Path) -> AsyncIterator[tuple[Engine, Tap, dict[str, Marking]]]:
    """The same bench with marks, and every turn tapped on its way."""
    models = {queue: Marking() for queue in MARKED}
    async with engine(tmp_path, queues=MARKED) as started:
        await started.moderator()
        tap = Tap()
        await tap.on(started, *MARKED)
        for queue, made in models.items():
            await started.worker(queue, model=made)
        yield started, tap, models


async def test_what_a_gate_refused_and_what_judges_scored_reaches_no_debater(
    marked: tuple[Engine, Tap, dict[str, Marking]],
) -> None:
    bench, tap, models = marked
    ears = await bench.connect("debater_1")
    heard: list[Post] = []

    async def hear(msg: Msg) -> None:
        heard.append(decode(msg.data, Post))

    for name in channels.readable_by(channels.PANEL):
        await ears.subscribe(subjects.channel_all(name), hear)
    await opened(bench, round_limit=3)
    found = await result(bench)
    await until(lambda: over(heard))
    refused = [marks(p) for p in await bench.posts("s1", "scores") if p.kind == "refused"]
    admitted = [marks(p) for p in await bench.posts("s1", "public") if p.kind == "argument"]
    assert len(refused) == sum(len(r["refused"]) for r in found.rounds) > 0 < len(admitted)
    sent = {seat: b"".join(tap.sent[seat]).decode() for seat in ("debater_1", "debater_2")}
    there = "".join(bytes(p.body).decode() for p in heard)
    asked = {seat: [decode(data, Work).round for data in tap.sent[seat]] for seat in sent}
    for seat, words in (*sent.items(), ("", there)):
        # its own words alone are told to a debater again
        assert not [mark for mark in refused if mark in words and not (seat and f"-{seat}-" in mark)]
        others = [name for name in sent if name != seat]
        assert "MARK-crit" not in words and not any(f"MARK-blind-{name}" in words for name in others)
        assert not any(re.search(rf"MARK-argue-{name}-\d-why", words) for name in others)
        before = max(asked.get(seat, [99]))
        early = [mark for mark in admitted if int(mark.split("-")[-2]) < before]
        assert all(mark in words for mark in early), "what was admitted before it was asked last is there"
    assert all(f"MARK-blind-{seat}" in words for seat, words in sent.items()), "its own is told to it again"
    for work in (decode(data, Work) for q in ("debater_1", "debater_2") for data in tap.sent[q]):
        assert {p.channel for p in work.posts} == {"public"} and not any(t.stream for t in work.turns)
        bodies = [decode(p.body, Ruled) for p in work.posts if p.kind == "argument"]
        assert all(body.admitted and not body.scores for body in bodies)
        assert {p.kind for p in work.posts} <= {"passages", "argument"}
    assert {p.channel for p in heard} == {"public", "control"}
    turns = [s for m in models.values() for s in m.shown if s.role == "debater"]
    assert {s.kind for s in turns} <= {"blind", "argue", "attack", "answer"} and not any(s.documents for s in turns)


async def over(heard: list[Post]) -> bool:
    return any(p.kind == "closed" for p in heard)


def marks(post: Post) -> str:
    """The mark in an argument's claim."""
    found = re.search(r"MARK-argue-\w+-\d-\d!", decode(post.body, Ruled).claim)
    assert found is not None
    return found[0]


async def test_a_judge_is_not_told_whose_an_argument_is(marked: tuple[Engine, Tap, dict[str, Marking]]) -> None:
    """Each is shown the round's arguments in an order of its own, with the question and nothing else."""
    bench, tap, models = marked
    await opened(bench, round_limit=2)
    await result(bench)
    works = [decode(data, Work) for queue in JUDGES for data in tap.sent[queue]]
    assert works and not any(w.posts for w in works) and not any(t.documents for w in works for t in w.turns)
    for turn in (t for w in works for t in w.turns):
        said = re.sub(r"MARK-argue-\w+-\d-\d!", "", bytes(turn.brief).decode())
        assert "claim" in said and "debater" not in said and turn.seat.startswith("judge_") and not turn.error
    orders: dict[tuple[str, int], tuple[str, ...]] = {}
    for s in (s for queue in JUDGES for s in models[queue].shown):
        orders[s.seat, s.round] = tuple(item.claim for item in s.brief.items)
    assert len(orders) == 2 * len(JUDGES), "each queue judges once"
    for round_ in (1, 2):
        of_round = [orders[f"judge_{i}", round_] for i, _ in enumerate(JUDGES, 1)]
        assert len({frozenset(o) for o in of_round}) == 1
    assert len(set(orders.values())) > 2, "the judges of a round are shown its arguments in different orders"


async def test_a_debaters_credentials_open_no_way_to_the_scores(bench: Engine) -> None:
    await opened(bench, round_limit=1)
    await result(bench)
    assert await bench.posts("s1", "scores")
    debater, judge = await bench.connect("debater_1"), await bench.connect("judge")

    async def hear(_: Msg) -> None:
        raise AssertionError("it heard something")

    for subject in (
        subjects.channel_all("scores"), subjects.channel("s1", "scores"), subjects.channels_of("s1"),
        subjects.live_all("scores"), subjects.work_of("debater_2"), subjects.work_of("judge"),
    ):  # fmt: skip
        with pytest.raises(Denied):
            await debater.subscribe(subject, hear)
    speak = encode(Speak(window="w", kind="k", body=raw({})))
    for subject, data in (
        (subjects.read("scores", "s1"), encode(ReadPosts())),
        (subjects.doc("scores", "s1"), b"{}"),
        (subjects.say(subjects.ANY, "scores", "debater_1", "s1"), speak),
        (subjects.say(subjects.ANY, "public", "debater_2", "s1"), speak),
    ):
        with pytest.raises(BusError):
            await debater.request(subject, data, 1.0)
    with pytest.raises(Denied):
        await debater.publish(subjects.post("s1", "scores", "score"), b"{}", confirm=True)
    # The same questions are answered to those who may ask them.
    assert (await debater.request(subjects.read("public", "s1"), encode(ReadPosts()), 5.0)).data
    assert (await judge.request(subjects.read("scores", "s1"), encode(ReadPosts()), 5.0)).data


# ---------------------------------------------------------------- replies that will not do

YES, NO = "Fusarium wilt", "Root rot"
HELD = [{"outcome": YES, "p": 0.4}, {"outcome": NO, "p": 0.6}]


def argued(belief: Any = HELD, **span: str) -> dict[str, Any]:
    """A reply to `argue`, with one argument where it cites something."""
    arguments = [{"claim": "It is so.", "reasons": ["It says so."], "spans": [span]}] if span else []
    return {"arguments": arguments, "belief": belief, "changed": ""}


FAULTS = [
    (argued([{"outcome": YES, "p": 0.4}, {"outcome": NO, "p": 0.5}]), "belief: "),
    (argued([{"outcome": YES, "p": 0.4}, {"outcome": "Frost", "p": 0.6}]), "'Frost'"),
    (argued([{"outcome": YES, "p": 0.4}, {"outcome": YES.lower(), "p": 0.6}]), "belief"),
]
"""What debater_2 replies in round 1, and what it is told; in round 2 it corrects itself."""


def stumbling(fault: Any) -> Step:
    """A model server for debater_2 (whose blind reply is good) and debater_3 (whose belief never sums)."""

    async def step(server: ModelServer, request: Request, writer: asyncio.StreamWriter) -> None:
        body: Any = {"belief": HELD, "reasoning": "", "spans": []}
        if request.body["model"] == "third":
            body["belief"] = [{"outcome": YES, "p": 0.4}]
        elif kind_of(request) == "argue":
            again = "was not accepted" in request.prompt
            body = argued() if again and "Round 2." in request.prompt else fault
        await says(body)(server, request, writer)

    return step


def kind_of(request: Request) -> str:
    return str(request.body["response_format"]["json_schema"]["name"])


@pytest.mark.parametrize(("fault", "told"), FAULTS)
async def test_a_faulty_reply_is_asked_again_with_the_fault_and_then_its_seat_sits_out_by_name(
    fault: Any, told: str, tmp_path: Path
) -> None:
    """A belief that does not sum, an unknown and a repeated outcome: each is said in words, and none is repaired."""
    queues = {**ROLES, "debater_3": "debater"}
    async with model_server(stumbling(fault), look=fails(404)) as server, engine(tmp_path, queues=queues) as bench:
        async with model(server.url, model="second") as second, model(server.url, model="third") as third:
            await bench.moderator()
            for queue in queues:
                made = {"debater_2": second, "debater_3": third}.get(queue) or make_model("extractive")
                await bench.worker(queue, model=made)
            await opened(bench, debaters=3, judges=1, round_limit=2, tau_stop=20)
            found = await result(bench)
    assert found.stop.reason == "round_limit" and found.outcome["left_out"] == ["debater_3"]
    assert found.stop.certificate["missing"] == ["debater_3 in round 0", "debater_2 in round 1"]
    prompts = [r.prompt for r in server.requests if kind_of(r) == "argue"]
    assert len(prompts) == 4
    first, second_ = (p for p in prompts if "Round 1." in p)
    assert "was not accepted" not in first and told in second_.partition("was not accepted")[2]
    blind = [r.prompt for r in server.requests if r.body["model"] == "third"]
    assert len(blind) == 2 and "belief: " in blind[1].partition("was not accepted")[2]
    held: list[Mapping[str, Any]] = [
        {s["outcome"]: round(s["p"], 3) for s in r["beliefs"]["debater_2"] if s["p"] > 0.001} for r in found.rounds
    ]
    assert held == [{YES: 0.4, NO: 0.6}] * 3, "the last belief stands"
    assert set(found.rounds[0]["beliefs"]) == {"debater_1", "debater_2"}


@pytest.mark.parametrize(("passage", "tries"), [("p1", 1), ("p99", 2)])
async def test_a_quotation_that_stands_nowhere_is_left_out_and_the_case_is_posted(
    passage: str, tries: int, tmp_path: Path
) -> None:
    """Of a passage that it was not shown the check says once that it is not there."""
    invented = argued(passage=passage, quote="Fusarium is caused by frost.")
    queues = {**ROLES, "debater_2": "debater"}
    async with model_server(stumbling(invented), look=fails(404)) as server, engine(tmp_path, queues=queues) as bench:
        async with model(server.url, model="second") as second:
            await bench.moderator()
            for queue in queues:
                await bench.worker(queue, model=second if queue == "debater_2" else make_model("extractive"))
            await opened(bench, debaters=2, judges=1, round_limit=2, tau_stop=20)
            found = await result(bench)
    assert not found.stop.certificate["missing"] and len(server.requests) == 1 + 2 * tries, (
        "a blind reply and two cases"
    )
    assert "frost" not in str(found.rounds)


async def test_a_judge_of_another_family_is_demanded_and_found(tmp_path: Path) -> None:
    """Two queues of judges: one of the debaters' own family is not seated beside another."""
    async with engine(tmp_path, queues={**ROLES, "judge_2": "judge"}) as bench:
        await bench.moderator()
        await announce(bench, "judge_2")
        given = {"question": QUESTION, "protocol": "maci", "documents": DOCUMENTS}
        demand = {"outcomes": OUTCOMES, "cross_family": "demand"}
        fate = await bench.open("s1", **given, settings=demand)
        assert (fate.fate, fate.field) == ("refused", "maci.cross_family")
        assert "demand, but judges are none and debaters none; start a judge of another model family" in fate.why
        foreign = Marking()
        foreign.family = "another"
        await bench.worker("judge_2", model=foreign)

        names = (f"s{n}" for n in itertools.count(2))

        async def taken() -> str:
            sid = next(names)
            return sid if (await bench.open(sid, **given, settings=demand)).fate == "taken" else ""

        sid = await until(taken)
        (opening,) = (e.event for e in await bench.entries(sid) if isinstance(e.event, log.Opened))
        judges = [(s.queue, s.family) for s in opening.seats if s.role == "judge"]
        assert judges == [("judge_2", "another")]
