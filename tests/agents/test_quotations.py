"""Quotations are word for word when a reply is submitted; one that stands nowhere is left out, and the answer stays."""

import msgspec
import pytest

from parley.agents.context import Other, Shown
from parley.agents.model.base import Completion, Emit
from parley.agents.openai.model import OpenAIModel
from parley.agents.openai.options import parse
from parley.agents.turn_kinds.quotations import DROPPED, verbatim
from parley.agents.worker_model import WorkerModel
from parley.schemas.citation import Citation
from parley.schemas.protocols.consensus import Position
from parley.schemas.protocols.maci.messages import Argument, Blind, Case, Passage, Passages, Span
from parley.schemas.wire import raw
from tests.llm.support import POSITION, asked
from tests.protocols.consensus.simulate import document

TEXT = "The mill’s own test says — twice — that A4 is sturdier. It isn’t cheap."
HELD = [document("d.md", TEXT)]


def cites(*quotes: tuple[str, str], moved: tuple[tuple[str, str], ...] = ()) -> Position:
    """A position with quotations."""
    cited, moved_by = (tuple(Citation(document=d, quote=q) for d, q in of) for of in (quotes, moved))
    return Position(**{**POSITION, "citations": cited, "moved_by": moved_by})  # type: ignore[arg-type]


def test_typography_is_set_right_and_nothing_is_flagged() -> None:
    reply = cites(("d.md", "the mill's own test says - twice - that A4"))
    mended = verbatim(asked(HELD), Completion(body=reply))
    assert mended.body == cites(("d.md", "The mill’s own test says — twice — that A4")) and mended.flags == ()


def test_what_stands_there_is_left_as_it_is() -> None:
    completion = Completion(body=cites(("d.md", "A4 is\n sturdier")))
    assert verbatim(asked(HELD), completion) is completion


@pytest.mark.parametrize("as_json", [False, True])
def test_what_nobody_wrote_is_dropped_and_the_answer_stays(as_json: bool) -> None:
    reply = cites(("d.md", "A4 is cheaper"), ("d.md", "It isn't cheap."), moved=(("d.md", "Letter jams."),))
    given = Completion(body=raw(reply) if as_json else reply, flags=("estimated",))
    mended = verbatim(asked(HELD), given)
    assert mended.body == cites(("d.md", "It isn’t cheap.")) and mended.flags == ("estimated", DROPPED)


def test_the_document_that_holds_the_words_is_named() -> None:
    mended = verbatim(asked(HELD), Completion(body=cites(("the report", "that A4 is sturdier. It isn't cheap"))))
    assert mended.body.citations == (Citation(document="d.md", quote="that A4 is sturdier. It isn’t cheap"),)
    unknown = Completion(body=cites(("the report", "A4")))
    assert verbatim(asked(HELD), unknown) is unknown, "a word stands in many places: the check asks again"


def test_of_a_document_of_others_what_they_quote_is_known() -> None:
    told = Other(post=3, kind="position", round=1, body=cites(("e.md", "Letter’s cheaper than A4")))
    reply = cites(("e.md", "letter's cheaper"), ("e.md", "A4 is dear"))
    for attempt, left in ((1, 2), (2, 1)):
        shown = msgspec.structs.replace(asked(HELD, attempt=attempt), others=(told,))
        mended = verbatim(shown, Completion(body=reply))
        assert mended.body.citations[0].quote == "Letter’s cheaper" and len(mended.body.citations) == left
        assert (DROPPED in mended.flags) == (left == 1), "what it cannot know is left to the check, once"


def test_spans_of_passages_are_quotations_too() -> None:
    passages = Passages(passages=(Passage(id="p1", document="d.md", text=TEXT),))
    shown = msgspec.structs.replace(
        asked([]), reply=Case, others=(Other(post=1, kind="passages", round=0, body=passages),)
    )
    spans = (Span(passage="p1", quote="It isn't cheap"), Span(passage="p1", quote="It is cheap"))
    case = Case(belief=(), arguments=(Argument(claim="It is dear.", spans=spans),))
    mended = verbatim(shown, Completion(body=case))
    assert mended.body.arguments[0].spans == (Span(passage="p1", quote="It isn’t cheap"),) and DROPPED in mended.flags


def test_a_reply_that_is_none_and_one_without_quotations_pass() -> None:
    for body in (msgspec.Raw(b'{"x": 1}'), cites(), Blind(belief=())):
        completion = Completion(body=body)
        assert verbatim(asked(HELD), completion) is completion


async def test_every_model_of_a_worker_is_served_so() -> None:
    class Invents(OpenAIModel):
        async def reply(self, shown: Shown, emit: Emit) -> Completion:
            return Completion(body=cites(("d.md", "It is cheap.")))

    made = Invents(parse({"base_url": "http://127.0.0.1:1/v1", "model": "m"}, {}))
    completion = await WorkerModel(made).reply(asked(HELD), lambda _text: None)
    assert completion.body == cites() and completion.flags == (DROPPED,)
