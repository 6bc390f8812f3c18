"""The judge without a language model compares objections with its encoder, and says what it went by."""

import asyncio
import json
import logging
import time
from typing import Any

import pytest

from parley.agents.context import Other, Shown
from parley.agents.encoders.embedded import Embedded
from parley.agents.models import Completion, make_model
from parley.agents.protocols.critic import kinds as critic
from parley.agents.protocols.critic.extractive_compare import by_encoder
from parley.schemas.protocols.critic import Answer, JudgeBrief, PastObjection, Raised
from parley.schemas.text import BY_ENCODER, BY_WORDS, WHY
from parley.schemas.turn import Caps, Usage
from tests.llm.server import Step, fails, goes_silent, model_server, raw
from tests.protocols.critic.simulate import example, run

NEW = "In the evening a bus runs only every hour."
PROFILE = ("Buses run only once an hour in the evening.", "The licence fee per seat was left out.")


def shown(new: str = NEW, profile: tuple[str, ...] = PROFILE, **more: Any) -> Shown:
    """A new objection, before a judge."""
    said = (Answer(answer="By bus", reasoning="r", confidence=0.5), Raised(number=3, objection=new))
    known = tuple(PastObjection(number=n, round=n, text=text) for n, text in enumerate(profile, 1))
    return Shown(
        session="s", protocol="critic", question="", seat="judge", role="judge", kind="judge", round=3,
        brief=JudgeBrief(round=3, order="answer_first", profile=known, objects=True),
        reply=critic.KINDS["judge"].reply,
        others=tuple(Other(label="x", post=i, kind="answer", round=3, body=body) for i, body in enumerate(said)),
        **more,
    )  # fmt: skip


def compare(encoder: Any = None, new: str = NEW) -> Completion:
    """The judge's reply; None: as it is without options."""
    model = make_model("extractive", {} if encoder is None else {"encoder": encoder})
    return asyncio.run(model.reply(shown(new), lambda text: None))


@pytest.fixture(scope="module")
def encoder() -> Embedded:
    return Embedded()


def test_by_default_the_embedded_encoder_compares() -> None:
    reply = compare()
    assert reply.flags == (BY_ENCODER,)
    assert reply.body.repeats == 1
    assert compare(new="Nobody asked the drivers.").body.repeats == 0


def test_without_an_encoder_words_are_compared_and_the_reply_says_so() -> None:
    reply = compare("none", new="In the evening buses run only once an hour.")
    assert reply.flags == (BY_WORDS,)
    assert reply.body.repeats == 1


def test_an_encoder_that_fails_leaves_the_words_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def both() -> list[Completion]:
        async with model_server(fails(400, "no such model")) as server:
            model: Any = make_model("extractive", {"encoder": {"name": "openai", "model": "m", "base_url": server.url}})
            replies = [await model.reply(shown(), lambda text: None) for _ in range(2)]
            await model.aclose()
            return replies

    with caplog.at_level(logging.WARNING, logger="parley.agents.protocols.critic.extractive_compare"):
        replies = asyncio.run(both())
    assert [r.flags for r in replies] == [(BY_WORDS, f"{WHY}encoder m: HTTP 400, no such model")] * 2
    told = [r.getMessage() for r in caplog.records if "compared by their words" in r.getMessage()]
    assert len(told) == 1 and "no such model" in told[0]


async def test_other_figures_are_another_objection(encoder: Embedded) -> None:
    profile = ("The audit saw it fail 3 times.", "It failed 40 times in the audit.")
    same, other = await by_encoder(encoder, "It failed 3 times in the audit.", profile)
    assert same > 0.75 > 0.55 > other


async def test_what_is_said_around_quotations_makes_no_two_alike(encoder: Embedded) -> None:
    frame = "“{}” (notes.md) speaks against Tape; the answer does not quote it."
    said = ("The robot arm jams in damp summers", "Nobody sells that cartridge format any more")
    (bare,) = await by_encoder(encoder, said[0], said[1:])
    (framed,) = await by_encoder(encoder, frame.format(said[0]), (frame.format(said[1]),))
    assert framed == bare < 0.5
    (short,) = await by_encoder(encoder, "“Tape” is too slow for a restore.", ("“Tape” costs more than disk.",))
    assert short < 0.75, "a word in quotation marks is not all that is said"


@pytest.mark.parametrize("told", ["none", "embedded"])
def test_a_session_ends_by_either(told: str) -> None:
    ended = run(*example("critic-archive"), {"judge": make_model("extractive", {"encoder": told})})
    (pair,) = ended.result.stop.certificate["duplicates"]
    assert pair["repeats"] == 1 and ended.result.stop.reason == "unsettled"


def at(url: str, **options: Any) -> Any:
    """`options.encoder` for a server."""
    return {"name": "openai", "model": "m", "base_url": url, **options}


def embeds(*rows: list[float], tokens: int = 0) -> Step:
    """Answers with these vectors."""
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    return raw(json.dumps({"data": data, "usage": {"prompt_tokens": tokens}}).encode())


async def reply(model: Any, asked: Shown) -> Completion:
    try:
        found: Completion = await model.reply(asked, lambda text: None)
        return found
    finally:
        await model.aclose()


async def test_what_a_server_encodes_is_the_turns_usage() -> None:
    async with model_server(embeds([1.0, 0.0], [1.0, 0.0], [0.0, 1.0], tokens=31)) as server:
        model = make_model("extractive", {"encoder": at(server.url, usd_per_million=2)})
        assert model.metered and model.usd_per_million_input == 2.0
        found = await reply(model, shown())
    assert found.flags == (BY_ENCODER,) and found.body.repeats == 1
    assert found.usage == Usage(calls=1, input_tokens=31, cost_usd=31 * 2 / 1e6, unpriced=False)
    assert not make_model("extractive").metered


async def test_what_a_failed_try_used_is_counted_too() -> None:
    async with model_server(embeds([0.0], tokens=12)) as server:
        found = await reply(make_model("extractive", {"encoder": at(server.url)}), shown())
    assert found.flags[0] == BY_WORDS and found.usage.input_tokens == 12


async def test_a_turns_caps_hold_for_the_encoder() -> None:
    async with model_server(embeds([1.0, 0.0])) as server:
        caps = Caps(input_tokens=5, calls=1)
        found = await reply(make_model("extractive", {"encoder": at(server.url)}), shown(caps=caps))
        assert server.requests == []
    assert found.flags[0] == BY_WORDS and "the turn may use 5" in found.flags[1]


async def test_words_stand_in_before_the_turns_deadline() -> None:
    async with model_server(goes_silent()) as server:
        soon = time.time_ns() + 1_000_000_000
        found = await reply(make_model("extractive", {"encoder": at(server.url)}), shown(deadline_ns=soon))
        assert time.time_ns() < soon
    assert found.flags == (BY_WORDS, f"{WHY}encoder m: no vectors before the turn's deadline")


async def test_cancelling_the_turn_ends_the_encoders_request() -> None:
    async with model_server(goes_silent()) as server:
        model: Any = make_model("extractive", {"encoder": at(server.url)})
        asking = asyncio.ensure_future(model.reply(shown(), lambda text: None))
        await asyncio.wait_for(server.arrived.wait(), 5)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(server.gone.wait(), 5)
        await model.aclose()
