"""The factory, the recorded model, and what every model must do."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.context import Shown
from parley.agents.models import Completion, Emit, Model, ModelMisconfigured, ModelRefused, NotRecorded, make_model
from parley.agents.models.recorded import Recorder
from parley.agents.protocols import KITS, Kind, Kit
from parley.schemas.protocols.consensus import Position
from parley.schemas.turn import Usage
from parley.schemas.wire import decode, encode
from tests.protocols.consensus.simulate import document, example, run, turn_shown


class Fixed:
    """A stub: always the same position, counted."""

    name = "fixed"
    family = "stub"
    metered = True
    usd_per_million_input = 1.0
    usd_per_million_output = 2.0

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.answer = options.get("answer", "A")

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """The position."""
        emit(self.answer)
        body = Position(answer=self.answer, reasoning="r", confidence=0.5)
        return Completion(body=body, usage=Usage(input_tokens=3, output_tokens=2, calls=1), flags=("repaired",))


def record_file(path: Path) -> Path:
    """A recording of the one turn that the contract tests ask."""
    model = Recorder(make_model("extractive"), path)
    asyncio.run(model.reply(asked(), lambda text: None))
    return path


def asked() -> Shown:
    """An ordinary turn."""
    return turn_shown(
        "Should we use A4 or letter?", [document("d.md", "The printers recommend A4. We should use A4. Letter failed.")]
    )


@pytest.fixture(params=["extractive", "recorded", "tests.agents.test_models:Fixed"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Model:
    """Every kind of model there is."""
    options = {"path": str(record_file(tmp_path / "r.jsonl"))} if request.param == "recorded" else {}
    return make_model(request.param, options)


def test_contract_a_reply_fits_its_schema_and_is_counted(model: Model) -> None:
    live: list[str] = []
    completion = asyncio.run(model.reply(asked(), live.append))
    position = decode(completion.json(), Position)
    assert position.answer and live and position.answer in "".join(live)
    assert completion.usage.calls == 1


def test_contract_it_says_what_it_is_and_what_it_costs(model: Model) -> None:
    assert model.name and model.family
    assert model.usd_per_million_input >= 0 and model.usd_per_million_output >= 0
    assert model.metered or model.usd_per_million_input == model.usd_per_million_output == 0


def test_contract_same_turn_same_reply(model: Model) -> None:
    async def twice() -> list[bytes]:
        replies = await asyncio.gather(*(model.reply(asked(), lambda text: None) for _ in range(2)))
        return [encode(c.body) for c in replies]

    one, two = asyncio.run(twice())
    assert one == two


def test_a_stub_takes_its_options() -> None:
    stub = make_model("tests.agents.test_models:Fixed", {"answer": "B"})
    assert asyncio.run(stub.reply(asked(), lambda text: None)).body.answer == "B"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gpt", {}, "allowed are extractive, openai, command, recorded and module:attribute"),
        ("no.such.module:x", {}, "cannot be imported"),
        ("tests.agents.test_models:Nothing", {}, "cannot be imported"),
        ("extractive", {"temperature": 1}, r"options\.temperature"),
        ("recorded", {}, r"options\.path"),
        ("recorded", {"path": "x", "pth": "y"}, r"options\.pth"),
        ("recorded", {"path": "/no/such/file"}, "cannot be read"),
    ],
)
def test_a_model_that_cannot_be_made_says_why(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelMisconfigured, match=message):
        make_model(name, options)


def test_a_broken_recording_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text('\n{"key": 1}\n')
    with pytest.raises(ModelMisconfigured, match="line 2"):
        make_model("recorded", {"path": str(path)})


def test_a_turn_that_was_not_recorded_is_named(tmp_path: Path) -> None:
    model = make_model("recorded", {"path": str(record_file(tmp_path / "r.jsonl"))})
    with pytest.raises(NotRecorded, match="consensus revise, seat panelist_1, round 3, attempt 1"):
        asyncio.run(model.reply(turn_shown("q?", kind="revise", round_=3), lambda text: None))


def test_turns_of_one_key_are_played_again_in_their_order(tmp_path: Path) -> None:
    """A competition's judge marks several speeches in a round: what differs is the turn alone."""
    path = tmp_path / "r.jsonl"
    fixed = Fixed({})
    recorder = Recorder(fixed, path)
    asks = [msgspec.structs.replace(asked(), turn=turn) for turn in ("3.0", "5.0")]
    for fixed.answer, ask in zip("AB", asks, strict=True):
        asyncio.run(recorder.reply(ask, lambda text: None))
    played = make_model("recorded", {"path": str(path)})
    again = [asyncio.run(played.reply(ask, lambda text: None)) for ask in (*asks, asks[0])]
    assert [decode(completion.json(), Position).answer for completion in again] == ["A", "B", "A"]


def test_a_kind_of_turn_without_a_method_is_refused_by_name() -> None:
    dance = msgspec.structs.replace(turn_shown("q?"), kind="dance")
    with pytest.raises(ModelRefused, match=r"'dance'.*'consensus'"):
        asyncio.run(make_model("extractive").reply(dance, lambda text: None))


def test_a_protocol_that_brings_no_method_is_refused_by_name() -> None:
    KITS.add("dances", Kit({"dance": Kind(brief=Position, reply=Position)}))
    for protocol in ("dances", "unknown"):
        dance = msgspec.structs.replace(turn_shown("q?"), kind="dance", protocol=protocol)
        with pytest.raises(ModelRefused, match=rf"'dance'.*'{protocol}'"):
            asyncio.run(make_model("extractive").reply(dance, lambda text: None))


def test_a_session_replays_from_its_recording(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    seats = ("panelist_1", "panelist_2", "panelist_3", "analyst")
    recorder = Recorder(make_model("extractive"), path)
    first = run(*example("rollout"), models=dict.fromkeys(seats, recorder))
    replayed = run(*example("rollout"), models=dict.fromkeys(seats, make_model("recorded", {"path": str(path)})))
    assert replayed.result.outcome == first.result.outcome and replayed.scores == first.scores
    assert all("recorded" in r.flags for r in replayed.replies)
