"""What a competition is run by, from files: read, and refused by name before anything starts."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from parley.client import estimate
from parley.client.errors import BadInput
from parley.client.opening import opening_of
from parley.client.protocols.competition import files as formats
from parley.client.setup.options import read_styles
from parley.planned.plan import plan_of
from parley.schemas.session import OpenSession
from parley.settings import load
from parley.stack.announce import expected_announcements
from parley.stack.rows import rows_of
from tests.protocols.competition.play import shipped, small, speech
from tests.support.debater import MODEL

FOUR = {*(f"{team}_{i}" for team in ("pro", "con") for i in range(1, 5)), "judge"}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield


def written(data: Any, name: str = "mine.yaml") -> str:
    Path(name).write_text(data if isinstance(data, str) else yaml.safe_dump(data), encoding="utf-8")
    return name


def changed(change: Mapping[str, Any]) -> str:
    return written({**shipped("four_stage"), **change})


def refused(call: Any, *arguments: Any) -> str:
    with pytest.raises(BadInput) as caught:
        call(*arguments)
    return str(caught.value)


def opening(given: Mapping[str, Any], question: str = "This house would.", **more: Any) -> OpenSession:
    settings = load(None, {"protocol": "competition", "competition": dict(given), **more})
    plan = plan_of(settings)
    found = opening_of(question, {}, (), msgspec.structs.replace(plan.offer(), here=True), door="ask")
    rows = tuple(msgspec.structs.replace(row, model=MODEL) for row in plan.rows)
    estimate.of(found, expected_announcements(rows))
    return found


# ---------------------------------------------------------------- formats


def test_a_file_is_a_format_too_and_four_stage_is_the_default() -> None:
    assert formats.read_format(written(small(speech("pro_1")))).name == "small"
    assert formats.of({}).name == "four_stage"
    assert opening({}).settings["format"]["name"] == "four_stage"
    assert opening({"format": "oxford"}).settings["format"]["name"] == "oxford"
    assert opening({"format": "mine.yaml"}).settings["format"]["title"] == "Small"
    assert opening({"format": small(speech("pro_1"))}).settings["format"]["title"] == "Small"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"weights": {"logic": 1}}, "mine.yaml: format.weights: got ['logic'], wanted are logic, persuasion"),
        ({"colour": "red"}, "mine.yaml: format.colour: got 'red', no such key; there are name, "),
        ({"pace": {"words_per_minute": "fast"}}, "words_per_minute: got 'fast', allowed is a number"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_file_is_told_with_field_value_and_limit(change: dict[str, Any], said: str) -> None:
    assert said in refused(formats.read_format, changed(change))


# ---------------------------------------------------------------- personalities


def test_the_five_of_the_seed_are_there_and_a_file_of_ones_own_adds_to_them() -> None:
    five = formats.personalities()
    assert list(five) == ["logical", "emotional", "data_driven", "aggressive", "diplomatic"]
    assert all(len(p.characteristics) > 100 and "\n" not in p.characteristics for p in five.values())
    file = written({"quiet": {"name": "Quiet", "characteristics": "You say\n little."}}, "own.yaml")
    whole = formats.whole({"personalities": file, "styles": {"pro_1": "quiet", "con_1": "logical"}})
    quiet = {"name": "Quiet", "characteristics": "You say little."}
    assert whole["personalities"] == {"quiet": quiet, "logical": msgspec.to_builtins(five["logical"])}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("loud", ": got 'loud', allowed is a mapping"),
        ({"nam": "x"}, ".nam: got 'x', no such key; there are name, characteristics"),
        ({"name": "x"}, "missing required field `characteristics`"),
        ({"name": 7, "characteristics": "x"}, ".name: got 7, allowed is text"),
        ({"name": "", "characteristics": "x"}, ".name: got ''"),
        ({"name": "x", "characteristics": "x" * 2_001}, "2,000"),
        ({"name": "a\x1bb", "characteristics": "x"}, ".name: control character U+001B"),
    ],
)
def test_what_is_wrong_with_a_personality_is_named(value: Any, said: str) -> None:
    file = written({"quiet": value}, "own.yaml")
    told = refused(formats.whole, {"personalities": file, "styles": {"pro_1": "logical"}})
    assert "own.yaml: personalities.quiet" in told and said in told


def test_a_personality_and_a_seat_that_are_not_there_are_named() -> None:
    assert refused(opening, {"styles": {"pro_1": "logicl"}}) == (
        "competition.styles.pro_1: pro_1: 'logicl' is no personality; did you mean logical?"
    )
    assert "four_stage has no seat 'pro_5'; seats are pro_1, pro_2" in refused(
        opening, {"styles": {"pro_5": "logical"}}
    )
    assert read_styles(["pro_1=logical", "con_1 = emotional"]) == {"pro_1": "logical", "con_1": "emotional"}
    assert read_styles(["mixed", "panelist_1=base-rates"]) == {"*": "mixed", "panelist_1": "base-rates"}
    assert "expected SEAT=NAME" in refused(read_styles, ["pro_1="])
    assert "two styles, logical and emotional" in refused(read_styles, ["pro_1=logical", "pro_1=emotional"])


# ---------------------------------------------------------------- topics


def topics() -> Path:
    data = {"a": {"motion": "Motion A.", "stances": {"pro": "yes"}, "evidence": "docs"}, "b": "Motion B."}
    return Path(written(data, "topics.yaml"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("topics.yaml#c", "topics.yaml has no topic 'c'; it has a, b"),
        ("topics.yaml", "which one of topics.yaml? Name it: topics.yaml#a; there are a, b"),
        ("nowhere.yaml#a", "cannot read nowhere.yaml"),
        ("bad.yaml#a", "bad.yaml: topic.a: got {'stances': {}}, Object missing required field `motion`"),
        ("bad.yaml#c", "Invalid enum value 'judge' - at `key` in `$.stances`"),
    ],
)
def test_what_is_wrong_with_a_topic_is_named(given: str, said: str) -> None:
    found, folder = formats.topic(f"{topics()}#a")
    assert (found.motion, dict(found.stances), folder) == ("Motion A.", {"pro": "yes"}, Path("docs"))
    bad = {"a": {"stances": {}}, "c": {"motion": "m", "stances": {"judge": "x"}}}
    written(bad, "bad.yaml")
    assert said in refused(formats.topic, given)


# ---------------------------------------------------------------- who is started


def test_the_stack_has_the_seats_of_its_format() -> None:
    def queues(given: Mapping[str, Any]) -> set[str]:
        return {r.queue for r in plan_of(load(None, {"protocol": "competition", "competition": given})).rows}

    assert queues({}) == FOUR == {r.queue for r in rows_of("competition")}
    assert queues({"format": "oxford"}) == {
        "pro_1", "pro_2", "con_1", "con_2", "judge", *(f"audience_{i}" for i in range(1, 6)),
    }  # fmt: skip
    assert queues({"format": written(small(speech("pro_1"), seats=1))}) == {"pro_1", "con_1", "judge"}
