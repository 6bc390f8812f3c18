"""The package's own tests: no process, no bus, no key."""

import asyncio

import pytest

from parley.testing import allow, check_agent, check_protocol, play, scripted, turn

allow("parley-jury")

from parley_jury.agents import steady  # noqa: E402  # its role is known from here on
from parley_jury.kit import first_word  # noqa: E402
from parley_jury.machine import PROTOCOL  # noqa: E402
from parley_jury.retriever import shortest  # noqa: E402
from parley_jury.rows import HUNG, JUROR, PATIENCE, ROOM, VERDICT  # noqa: E402

FIRST, SECOND, THIRD = (f"{JUROR}_{i}" for i in (1, 2, 3))


def test_a_juror_follows_most_of_the_others() -> None:
    asked = turn("vote", "Tea or coffee?", protocol="jury", others=[{"choice": "tea"}, {"choice": "tea"}])
    assert asyncio.run(steady(asked)).fields["choice"] == "tea"
    assert first_word(["# ", "## Tea or coffee"]) == "Tea" and first_word([]) == "yes"


def test_the_juror_is_an_agent() -> None:
    check_agent(steady)


def test_the_table_is_sound() -> None:
    assert check_protocol(PROTOCOL).result.stop.reason == VERDICT


def test_votes_stay_in_the_room_and_the_second_ballot_shows_them() -> None:
    tea, coffee = {"choice": "tea"}, {"choice": "coffee"}
    third = scripted(coffee, tea)
    ended = play("jury", "Tea or coffee?", {FIRST: scripted(tea, tea), SECOND: scripted(tea, tea), THIRD: third})
    assert [post.channel for post in ended.posts if post.kind == "vote"] == [ROOM] * 6
    assert [other.body.choice for other in third.turns[1].others] == ["tea", "tea", "coffee"]
    assert ended.result.stop.converged and ended.outcome == {"answer": "tea"}


@pytest.mark.parametrize(
    ("votes", "reason", "converged"),
    [
        (("tea", "tea", "tea"), VERDICT, True),
        (("tea", "coffee", "tea"), HUNG, False),
        (("tea", None, None), VERDICT, False),  # one of three is no jury
        ((None, None, None), "quorum", False),
    ],
)
def test_how_it_ends(votes: tuple[str | None, ...], reason: str, converged: bool) -> None:
    seats = {
        f"{JUROR}_{i}": scripted(*([None if vote is None else {"choice": vote}] * 2)) for i, vote in enumerate(votes, 1)
    }
    stop = play("jury", "Tea or coffee?", seats).result.stop
    assert (stop.reason, stop.converged) == (reason, converged)


def test_the_retriever_prefers_short_passages() -> None:
    assert shortest("tea", ["a long passage", "short"]) == [1 / 15, 1 / 6]


def test_the_rule_ends_a_debate_of_another_protocol_after_its_second_round() -> None:
    seats = {
        f"panelist_{i}": scripted(*[{"answer": a, "reasoning": "So.", "confidence": 0.7}] * 9)
        for i, a in enumerate(("tea", "coffee", "water"), 1)
    }
    ended = play("consensus", "Tea, coffee or water?", seats, stop_rule="patience")
    assert (ended.result.stop.reason, ended.result.stop.converged) == (PATIENCE, False)
    assert max(post.round for post in ended.posts) == 2
