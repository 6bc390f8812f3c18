"""Models and kits: what each must do, what is asked of them in each protocol, and how their quotations are kept."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parley.agents.context import Other, Shown
from parley.agents.models import Completion, Emit, Model, ModelMisconfigured, NotRecorded, make_model
from parley.agents.models.recorded import Recorder
from parley.agents.openai.model import OpenAIModel
from parley.agents.openai.options import parse
from parley.agents.protocols import KITS
from parley.agents.turn_kinds.quotations import DROPPED, verbatim
from parley.agents.worker_model import WorkerModel
from parley.schemas.protocols.consensus import Position
from parley.schemas.protocols.maci.messages import Argument, Blind, Case, Passage, Passages, Span
from parley.schemas.text import Citation
from parley.schemas.turn import Usage
from parley.schemas.wire import decode, encode, raw
from tests.llm.support import POSITION
from tests.llm.support import asked as quoting
from tests.protocols.consensus.simulate import document, turn_shown


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


def test_contract_same_turn_same_reply(model: Model) -> None:
    async def twice() -> list[bytes]:
        replies = await asyncio.gather(*(model.reply(asked(), lambda text: None) for _ in range(2)))
        return [encode(c.body) for c in replies]

    one, two = asyncio.run(twice())
    assert one == two


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
        ("recorded", {"path": "broken"}, "line 2"),
    ],
)
def test_a_model_that_cannot_be_made_says_why(name: str, options: dict[str, Any], message: str, tmp_path: Path) -> None:
    if options.get("path") == "broken":
        (tmp_path / "broken").write_text('\n{"key": 1}\n')
        options = {"path": str(tmp_path / "broken")}
    with pytest.raises(ModelMisconfigured, match=message):
        make_model(name, options)


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


ROOT = Path(__file__).parents[2]
ROOMS = sorted(p.parent.name for p in (ROOT / "agents" / "protocols").glob("*/kit.py"))


@pytest.mark.parametrize("protocol", ROOMS)
def test_every_kind_of_turn_has_a_method_and_a_prompt_unless_it_is_computed(protocol: str) -> None:
    kit = KITS[protocol]
    assert kit.prompts is not None
    computed = {name for name, kind in kit.kinds.items() if kind.computed}
    asked = set(kit.kinds) - computed
    assert set(kit.computed() if kit.computed else ()) == computed
    assert set(kit.extractive() if kit.extractive else asked) == asked
    written = {p.stem for p in kit.prompts.glob("*.md")}
    assert asked <= written <= {*kit.kinds, *kit.parts}


TEXT = "The mill’s own test says — twice — that A4 is sturdier. It isn’t cheap."
HELD = [document("d.md", TEXT)]


def cites(*quotes: tuple[str, str], moved: tuple[tuple[str, str], ...] = ()) -> Position:
    """A position with quotations."""
    cited, moved_by = (tuple(Citation(document=d, quote=q) for d, q in of) for of in (quotes, moved))
    return Position(**{**POSITION, "citations": cited, "moved_by": moved_by})  # type: ignore[arg-type]


def test_typography_is_set_right_and_nothing_is_flagged() -> None:
    reply = cites(("d.md", "the mill's own test says - twice - that A4"))
    mended = verbatim(quoting(HELD), Completion(body=reply))
    assert mended.body == cites(("d.md", "The mill’s own test says — twice — that A4")) and mended.flags == ()


@pytest.mark.parametrize("as_json", [False, True])
def test_what_nobody_wrote_is_dropped_and_the_answer_stays(as_json: bool) -> None:
    reply = cites(("d.md", "A4 is cheaper"), ("d.md", "It isn't cheap."), moved=(("d.md", "Letter jams."),))
    given = Completion(body=raw(reply) if as_json else reply, flags=("estimated",))
    mended = verbatim(quoting(HELD), given)
    assert mended.body == cites(("d.md", "It isn’t cheap.")) and mended.flags == ("estimated", DROPPED)


def test_the_document_that_holds_the_words_is_named() -> None:
    mended = verbatim(quoting(HELD), Completion(body=cites(("the report", "that A4 is sturdier. It isn't cheap"))))
    assert mended.body.citations == (Citation(document="d.md", quote="that A4 is sturdier. It isn’t cheap"),)
    unknown = Completion(body=cites(("the report", "A4")))
    assert verbatim(quoting(HELD), unknown) is unknown, "a word stands in many places: the check asks again"


def test_of_a_document_of_others_what_they_quote_is_known() -> None:
    told = Other(post=3, kind="position", round=1, body=cites(("e.md", "Letter’s cheaper than A4")))
    reply = cites(("e.md", "letter's cheaper"), ("e.md", "A4 is dear"))
    for attempt, left in ((1, 2), (2, 1)):
        shown = msgspec.structs.replace(quoting(HELD, attempt=attempt), others=(told,))
        mended = verbatim(shown, Completion(body=reply))
        assert mended.body.citations[0].quote == "Letter’s cheaper" and len(mended.body.citations) == left
        assert (DROPPED in mended.flags) == (left == 1), "what it cannot know is left to the check, once"


def test_spans_of_passages_are_quotations_too() -> None:
    passages = Passages(passages=(Passage(id="p1", document="d.md", text=TEXT),))
    shown = msgspec.structs.replace(
        quoting([]), reply=Case, others=(Other(post=1, kind="passages", round=0, body=passages),)
    )
    spans = (Span(passage="p1", quote="It isn't cheap"), Span(passage="p1", quote="It is cheap"))
    case = Case(belief=(), arguments=(Argument(claim="It is dear.", spans=spans),))
    mended = verbatim(shown, Completion(body=case))
    assert mended.body.arguments[0].spans == (Span(passage="p1", quote="It isn’t cheap"),) and DROPPED in mended.flags


def test_a_reply_that_is_none_and_one_without_or_with_good_quotations_pass() -> None:
    whole = cites(("d.md", "A4 is\n sturdier"))
    for body in (msgspec.Raw(b'{"x": 1}'), cites(), whole, Blind(belief=())):
        completion = Completion(body=body)
        assert verbatim(quoting(HELD), completion) is completion


async def test_every_model_of_a_worker_is_served_so() -> None:
    class Invents(OpenAIModel):
        async def reply(self, shown: Shown, emit: Emit) -> Completion:
            return Completion(body=cites(("d.md", "It is cheap.")))

    made = Invents(parse({"base_url": "http://127.0.0.1:1/v1", "model": "m"}, {}))
    completion = await WorkerModel(made).reply(quoting(HELD), lambda _text: None)
    assert completion.body == cites() and completion.flags == (DROPPED,)
