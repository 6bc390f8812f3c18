"""Experts of any field, and languages that are not read."""

import asyncio

import pytest

from parley.agents.experts import builtin
from parley.agents.matching import Matcher, embedded
from parley.agents.matching.language import is_foreign
from parley.agents.matching.word_roots import count_words, read_prompt
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Task
from tests.agents.test_matching import expert

MECHANIC = expert("mechanic", ("tractor",), owns=("repair of tractors and machines",), examples=("the gearbox whines",))
PLANTS = expert("plants", ("pest",), owns=("pests and diseases of vegetables",), examples=("spots on the lettuce",))
WATER = expert("water", ("irrigation",), owns=("wells, pumps and irrigation",), examples=("the pump runs dry",))


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(embedded())


def lead(matcher: Matcher, prompt: str, specs: tuple[ExpertSpec, ...]) -> str:
    candidates = asyncio.run(matcher.match(Task(prompt=prompt), specs)).candidates
    return candidates[0].expert if candidates else ""


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("the engine of the machine is broken and needs to be mended", "mechanic"),
        ("caterpillars eat the cabbage and the salad", "plants"),
        ("the borehole gives no water to the fields", "water"),
    ],
)
def test_a_task_in_words_of_a_field_finds_its_expert(matcher: Matcher, prompt: str, expected: str) -> None:
    assert lead(matcher, prompt, (MECHANIC, PLANTS, WATER)) == expected


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
    assert lead(matcher, "Die Tests schlagen fehl, bitte repariere den Code", builtin()) == ""


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("fix this typo", "implementation-engineer"),
        ("fix typo in line 45", "implementation-engineer"),
        ("write a test for this function", "qa-engineer"),
        ("write test for UserService", "qa-engineer"),
        ("stabilise the flaky login test", "qa-engineer"),
        ("add JWT auth", "security-architect"),
        ("add JWT authentication", "security-architect"),
        ("improve performance", "sre"),
        ("Improve the performance of our API", "sre"),
        ("redesign the data layer", "systems-architect"),
    ],
)
def test_wordings_of_the_source_find_their_lead_without_a_model(matcher: Matcher, prompt: str, expected: str) -> None:
    """seeds/madp.md 1.4 and 4.2."""
    assert lead(matcher, prompt, builtin()) == expected


def test_words_are_counted_as_they_are_read() -> None:
    for text in ("Fix the login page, not the menu", "renameTheUser in app.py", "", "it is c, or r"):
        assert count_words(text) == len(read_prompt(text).words)
