"""Work for several experts, and tasks that lie further off than all that a registry's experts do."""

import asyncio

import numpy as np
import pytest
from msgspec.structs import replace

from parley.agents.experts import builtin
from parley.agents.matching import Matcher, several
from parley.agents.matching.ranking import Compared, Parts, Rank, others
from parley.agents.matching.subject_model import make_readers
from parley.agents.matching.word_roots import count_words, read_prompt
from parley.schemas.expert import ExpertSpec
from parley.schemas.routing import Task

CANDIDATE = 0.3


@pytest.fixture(scope="module")
def matcher() -> Matcher:
    return Matcher(make_readers())


def many(matcher: Matcher, prompt: str) -> int:
    return len(asyncio.run(matcher.match(Task(prompt=prompt), builtin())).candidates)


def test_where_several_are_needed_the_two_likeliest_beside_the_lead_are_candidates() -> None:
    part = np.array([0.9, 0.01, 0.2, 0.1])
    sized = several.sized(several.weights().many, 0, part, CANDIDATE)
    assert list(sized) == [0.9, 0.01, CANDIDATE, CANDIDATE]
    assert list(part) == [0.9, 0.01, 0.2, 0.1]


def test_where_one_is_enough_nobody_is_a_candidate_beside_the_lead() -> None:
    sized = several.sized(several.weights().few / 2, 1, np.array([0.8, 0.9, 0.31]), CANDIDATE)
    assert sized[1] == 0.9
    assert (sized[[0, 2]] < CANDIDATE).all()


def test_where_nothing_is_sure_relevance_stays_as_it_is() -> None:
    between = (several.weights().few + several.weights().many) / 2
    part = np.array([0.8, 0.31, 0.1])
    assert (several.sized(between, 0, part, CANDIDATE) == part).all()


def test_the_lead_alone_needs_nobody_else() -> None:
    assert list(several.sized(1.0, 0, np.array([0.7]), CANDIDATE)) == [0.7]


@pytest.mark.parametrize(
    ("prompt", "least", "most"),
    [
        ("rename the variable tmp to total in utils.py", 1, 1),
        ("add a payments page, its api and its table, deploy it, and review its security", 3, 13),
    ],
)
def test_a_task_of_many_parts_has_several_candidates(matcher: Matcher, prompt: str, least: int, most: int) -> None:
    assert least <= many(matcher, prompt) <= most


def test_words_are_counted_as_they_are_read() -> None:
    for text in ("Fix the login page, not the menu", "renameTheUser in app.py", "", "it is c, or r"):
        assert count_words(text) == len(read_prompt(text).words)


def test_a_task_is_far_off_where_the_examples_are_enough_to_tell() -> None:
    """With fewer than twenty examples an expert nothing is far."""
    found = np.zeros((2, len(Rank)))
    found[:, Rank.BEYOND] = -50.0
    assert compared(examples=24).is_far(found)
    assert not compared(examples=4).is_far(found)
    found[1, Rank.BEYOND] = 50.0
    assert not compared(examples=24).is_far(found)


def test_an_example_that_is_all_that_an_expert_says_is_no_fault() -> None:
    """Its row has nothing else to lie near to."""
    one = np.eye(2, others().shape[1], dtype=np.float32)
    parts = [Parts(row, row, row, row, row[:0]) for row in (one[:1], one[1:])]
    assert np.isfinite(Compared(experts(), parts).usual).all()


def compared(examples: int) -> Compared:
    """Two experts of two fields, each with so many examples."""
    draw = np.random.Generator(np.random.PCG64(5))

    def expert(axis: int) -> Parts:
        rows = draw.normal(0, 0.1, (examples, others().shape[1])).astype(np.float32)
        rows[:, axis] += 1
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return Parts(rows, rows[:2], rows, rows[:1], rows[:0])

    return Compared(experts(), [expert(0), expert(1)])


def experts() -> tuple[ExpertSpec, ...]:
    """Two that leave nothing to anybody."""
    specs = [s for s in builtin() if not s.general][:2]
    return tuple(replace(s, domain=replace(s.domain, defers={})) for s in specs)
