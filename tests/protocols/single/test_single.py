"""One model alone: it is never called an agreement, and its certificate says that nobody checked it."""

from hashlib import sha256

import pytest

from parley.client.protocols import show_of
from parley.client.view.fold import of_result
from parley.schemas.protocols.single import Answer
from parley.schemas.session import Document
from parley.schemas.stops import STOPS
from parley.schemas.text import Citation
from tests.protocols.single.worlds import ABSTAINS, SAYS, Play


def test_one_answer_is_no_agreement_and_says_that_nobody_checked_it() -> None:
    play = Play()
    play.reply("answerer", SAYS)
    result = play.result
    assert (result.status, result.stop.reason, result.stop.converged) == ("finished", "answered", False)
    assert (result.outcome["answer"], result.outcome["confidence"], result.outcome["checked"]) == ("Tape", 0.8, False)
    assert result.stop.certificate == {"answers": 1, "checked": False}
    assert STOPS["answered"].exit_status(False) == 0
    assert of_result(result).sure.startswith("one answer; nobody checked it; confidence")
    assert show_of("single").alone(result) == {"answerer": ("Tape",)}


def test_who_abstains_leaves_the_question_open_with_what_bears_on_it() -> None:
    play = Play()
    play.reply("answerer", ABSTAINS)
    assert (play.result.stop.reason, play.result.outcome["answer"]) == ("unanswered", "")
    assert play.result.stop.certificate["answers"] == 0 and show_of("single").alone(play.result) == {}


@pytest.mark.parametrize(
    ("document", "quote", "why"),
    [
        ("b.md", "Tape lasts", "there is no document 'b.md'; name one that you hold ('a.md')"),
        ("a.md", "Disks", "does not stand in a.md"),
    ],
)
def test_a_quotation_stands_in_its_document_or_is_asked_again(document: str, quote: str, why: str) -> None:
    text = "Tape lasts thirty years."
    play = Play(Document(id=sha256(text.encode()).hexdigest(), name="a.md", text=text))
    cited = (Citation(document=document, quote=quote),)
    play.reply("answerer", Answer(answer="Tape", reasoning="r", confidence=0.5, citations=cited))
    assert why in play.ask("answerer").error
