"""Experts of any field: ranked by what their specifications say, with what the verb asks for, and in no language that
is not read."""

import asyncio

import pytest

from parley.agents.experts import builtin
from parley.agents.matching import Matcher
from parley.agents.matching.features import Prepared
from parley.agents.matching.language import is_foreign
from parley.agents.matching.ranking import Rank, weights
from parley.agents.matching.subject_model import make_readers
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Matched, Task
from parley_research.routing_registries import TRAIN, registries

FARM = next(r for r in registries(TRAIN) if r.name == "farm")


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(make_readers())


def found(matcher: Matcher, prompt: str, specs: tuple[ExpertSpec, ...]) -> Matched:
    return asyncio.run(matcher.match(Task(prompt=prompt), specs))


@pytest.mark.parametrize(
    ("prompt", "lead"),
    [
        ("the gearbox of the old Deutz whines", "machinery-mechanic"),
        ("holes in the leaves of the kale every morning", "plant-doctor"),
        ("how deep is the new bore hole allowed to be", "water-engineer"),
        ("fix the login page of our app", ""),
    ],
)
def test_words_that_no_specification_has_find_their_expert(matcher: Matcher, prompt: str, lead: str) -> None:
    assert not Prepared(FARM.specs).apart
    candidates = found(matcher, prompt, FARM.specs).candidates
    assert (candidates[0].expert if candidates else "") == lead


def test_the_weights_are_of_every_feature_and_none_speaks_against_an_expert() -> None:
    for one in (weights().read, weights().words):
        assert len(one.score) == len(Rank)
        assert min(one.score) >= 0


@pytest.mark.parametrize(
    ("text", "foreign"),
    [
        ("Die Tests schlagen fehl, bitte repariere den Code", True),
        ("¿Quién puede ver las direcciones de los clientes?", True),
        ("Почините сборку", True),
        ("add an index to the orders table", False),
        ("fix it", False),
        ("Rename the café menu", False),
    ],
)
def test_another_language_is_told_by_its_letters_and_small_words(text: str, foreign: bool) -> None:
    assert is_foreign(text) is foreign


def test_nobody_is_found_for_what_cannot_be_read(matcher: Matcher) -> None:
    assert found(matcher, "Die Tests schlagen fehl, bitte repariere den Code", builtin()).candidates == ()


@pytest.mark.parametrize(
    ("prompt", "lead"),
    [
        ("fix the failing tests", "implementation-engineer"),
        ("the tests fail, fix the code", "implementation-engineer"),
        ("make the tests green", "implementation-engineer"),
        ("Tests are red, please repair", "implementation-engineer"),
        ("pytest fails in test_invoice.py, please fix it", "implementation-engineer"),
        ("the test suite is broken, fix the bug", "implementation-engineer"),
        ("stabilise the flaky login test", "qa-engineer"),
        ("write a test for this function", "qa-engineer"),
        ("improve performance", "sre"),
        ("Improve the performance of our API", "sre"),
        ("redesign the data layer", "systems-architect"),
    ],
)
def test_who_does_what_the_verb_asks_for_leads(matcher: Matcher, prompt: str, lead: str) -> None:
    assert found(matcher, prompt, builtin()).candidates[0].expert == lead
