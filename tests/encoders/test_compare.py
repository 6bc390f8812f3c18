"""The helper compares objections with its encoder, and says what its figures are by."""

import asyncio
import logging
from typing import Any

import pytest

from agents.context import Shown
from agents.encoders.embedded import Embedded
from agents.llm import Completion, make_model
from agents.llm.extractive_compare import by_encoder
from agents.roles import critic
from schemas.critic import BY_ENCODER, BY_WORDS, CompareBrief
from tests.agents.critic_simulate import example, run
from tests.llm.server import fails, model_server

NEW = "In the evening a bus runs only every hour."
PROFILE = ("Buses run only once an hour in the evening.", "The licence fee per seat was left out.")


def compare(encoder: Any = None, new: str = NEW, profile: tuple[str, ...] = PROFILE) -> Completion:
    """The helper's reply; None: as it is without options."""
    shown = Shown(
        session="s", protocol="critic", question="", seat="helper", role="helper", kind="compare", round=2,
        brief=CompareBrief(objection=new, profile=profile), reply=critic.KINDS["compare"].reply,
    )  # fmt: skip
    model = make_model("extractive", {} if encoder is None else {"encoder": encoder})
    return asyncio.run(model.reply(shown, lambda text: None))


@pytest.fixture(scope="module")
def encoder() -> Embedded:
    return Embedded()


def test_by_default_the_embedded_encoder_compares() -> None:
    reply = compare()
    assert reply.flags == (BY_ENCODER,)
    assert reply.body.values[0] > 0.8 and reply.body.values[1] < 0.3


def test_without_an_encoder_words_are_compared_and_the_reply_says_so() -> None:
    reply = compare("none", new="In the evening buses run only once an hour.")
    assert reply.flags == (BY_WORDS,)
    assert reply.body.values == (1.0, 0.0)


def test_an_encoder_that_fails_leaves_the_words_and_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    async def both() -> list[Completion]:
        async with model_server(fails(400, "no such model")) as server:
            model: Any = make_model("extractive", {"encoder": {"name": "openai", "model": "m", "base_url": server.url}})
            shown = Shown(
                session="s", protocol="critic", question="", seat="helper", role="helper", kind="compare", round=2,
                brief=CompareBrief(objection=NEW, profile=PROFILE), reply=critic.KINDS["compare"].reply,
            )  # fmt: skip
            replies = [await model.reply(shown, lambda text: None) for _ in range(2)]
            await model.aclose()
            return replies

    with caplog.at_level(logging.WARNING, logger="agents.llm.extractive_compare"):
        replies = asyncio.run(both())
    assert [r.flags for r in replies] == [(BY_WORDS,), (BY_WORDS,)]
    told = [r.getMessage() for r in caplog.records if "compared by their words" in r.getMessage()]
    assert len(told) == 1 and "no such model" in told[0]


def test_other_figures_are_another_objection(encoder: Embedded) -> None:
    profile = ("The audit saw it fail 3 times.", "It failed 40 times in the audit.")
    same, other = by_encoder(encoder, "It failed 3 times in the audit.", profile)
    assert same > 0.75 > 0.55 > other


def test_what_is_said_around_quotations_makes_no_two_alike(encoder: Embedded) -> None:
    frame = "“{}” (notes.md) speaks against Tape; the answer is silent on it."
    said = ("The robot arm jams in damp summers", "Nobody sells that cartridge format any more")
    (bare,) = by_encoder(encoder, said[0], said[1:])
    (framed,) = by_encoder(encoder, frame.format(said[0]), (frame.format(said[1]),))
    assert framed == bare < 0.5
    (short,) = by_encoder(encoder, "“Tape” is too slow for a restore.", ("“Tape” costs more than disk.",))
    assert short < 0.75, "a word in quotation marks is not all that is said"


@pytest.mark.parametrize("told, source, threshold", [("none", "words", 0.6), ("embedded", "encoder", 0.75)])
def test_each_scale_has_its_own_threshold(told: str, source: str, threshold: float) -> None:
    ended = run(*example("critic-archive"), {"helper": make_model("extractive", {"encoder": told})})
    (pair,) = ended.result.stop.certificate["duplicates"]
    assert (pair["source"], pair["threshold"]) == (source, threshold)
    assert ended.result.stop.reason == "objections_exhausted"
