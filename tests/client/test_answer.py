"""The card of a result: its order, its words, and how each kind of ending reads; and that the same stands on every
screen."""

from collections.abc import Callable

import msgspec
import pytest

from parley.client.records import read_record
from parley.client.rendering.told import to_api
from parley.client.show.answer import MOST_WORDS, Answer, lines_of
from parley.client.show.card import Quote
from parley.client.view.fold import fold_of, of_result
from parley.client.view.shapes import VERSION, SessionView
from parley.schemas import log
from tests.client import golden, shown
from tests.protocols.competition import play as competition
from tests.protocols.consensus import play as consensus
from tests.protocols.critic.test_attacks import fatal_left_open

ORDER = ["answer", "sure", "why", "dissent", "weak", "next"]


@pytest.mark.parametrize("protocol", golden.PROTOCOLS)
def test_a_card_has_its_lines_in_one_order_and_at_most_60_words(protocol: str) -> None:
    card = fold_of(read_record(golden.LOGS / f"{protocol}.jsonl")).answer()
    assert card is not None
    told = [line.what for line in card.lines]
    assert told == [what for what in ORDER if what in told] and told[:2] == ["answer", "sure"] and told[-1] == "next"
    words = sum(
        len(f"{line.label} {line.text} {line.quote.quote if line.quote else ''}".split()) for line in card.lines
    )
    assert words <= MOST_WORDS


def test_of_long_lines_each_keeps_some_words_and_says_that_it_is_cut() -> None:
    long = "word " * 100
    told = lines_of([(what, f"{what}:", long) for what in ORDER], Quote(document="a.md", quote=long), (3,))
    assert sum(len(f"{t.label} {t.text} {t.quote.quote if t.quote else ''}".split()) for t in told) <= MOST_WORDS
    assert all(t.cut and t.text.endswith("…") for t in told) and told[2].quote is not None and told[2].posts == (3,)
    (alone,) = lines_of([("answer", "", long)], None, ())
    assert len(alone.text.split()) == MOST_WORDS, "what nobody else needs it has"


def cancelled() -> Answer:
    play = consensus.Play()
    play.event(log.Cancelled(author="client", reason="asked the wrong thing"))
    return shown.card(play)


def answered_now() -> Answer:
    play = consensus.Play({"round_limit": 5})
    play.answers("tea", "tea", "coffee")
    play.score(40.0)
    play.event(log.Hurried(author="client"))
    return shown.card(play)


def nobody() -> Answer:
    play = consensus.Play()
    play.answers(None, None, None)
    return shown.card(play)


def refused() -> Answer:
    return shown.card(fatal_left_open())


def draw() -> Answer:
    p = competition.Play(competition.small(competition.speech("pro_1"), competition.speech("con_1")))
    for seat in ("pro_1", "con_1"):
        p.says(seat)
        p.scores(7)
    p.auto("judge")
    return shown.card(p)


ENDINGS: list[tuple[Callable[[], Answer], str, str]] = [
    (cancelled, "cancelled", "cancelled by client: asked the wrong thing"),
    (answered_now, "unsettled", "not settled (stopped on request): "),
    (nobody, "failed", "failed: too few seats gave a position to go on"),
    (refused, "unsettled", "not settled (an objection overturns it)"),
    (draw, "done", "every stage was played"),
]


@pytest.mark.parametrize(("ending", "kind", "sure"), ENDINGS, ids=[ending.__name__ for ending, _, _ in ENDINGS])
def test_each_kind_of_ending_reads_as_what_it_is(ending: Callable[[], Answer], kind: str, sure: str) -> None:
    card = ending()
    assert card.kind == kind and sure in card.sure, card.sure
    assert "agreed" not in card.sure and (card.exit_code == 0) is (kind == "done")


@pytest.mark.parametrize("protocol", golden.PROTOCOLS)
def test_programs_get_the_view_with_its_version_and_what_is_decoded_is_the_same(protocol: str) -> None:
    view = fold_of(read_record(golden.LOGS / f"{protocol}.jsonl")).view()
    again = msgspec.json.decode(msgspec.json.encode(view), type=SessionView)
    assert again == view and view.version == VERSION == 1


def test_a_result_of_the_python_api_has_its_card_its_view_and_its_posts_in_rows() -> None:
    fold = fold_of(read_record(golden.LOGS / "consensus.jsonl"))
    assert fold.result is not None and fold.answer() is not None
    result = to_api(fold.result, posts=fold.posts)
    assert result.card.text == of_result(fold.result).text and result.view()["version"] == VERSION
    rows = result.posts_rows()
    assert rows[0]["seat"] == "panelist_2" and rows[0]["position"] == "No" and rows[0]["confidence"] == 0.62
    assert "<details>" in result._repr_html_() and "not settled (last round played)" in str(result)
    try:
        import pandas  # noqa: F401  # an extra of whoever uses notebooks
    except ModuleNotFoundError:
        with pytest.raises(ModuleNotFoundError, match="pandas"):
            result.posts_frame()
    else:
        assert next(iter(result.posts_frame()["position"])) == "No"


@pytest.mark.parametrize("form", golden.FORMS)
@pytest.mark.parametrize("protocol", golden.PROTOCOLS)
def test_a_recorded_session_is_shown_as_it_was_read(protocol: str, form: str) -> None:
    kept = (golden.FOLDER / f"{protocol}.{form}").read_text(encoding="utf-8")
    assert golden.made(protocol, form) == kept, "python -m tests.client.golden"


@pytest.mark.parametrize("protocol", golden.PROTOCOLS)
def test_one_screen_has_no_word_that_only_a_developer_knows_and_ends_with_the_card(protocol: str) -> None:
    screen = golden.made(protocol, "screen.txt")
    for word in ("lexical_fallback", "unaccounted", "never part", "_", "None", "{", "[]"):
        assert word not in screen.replace("panelist_", "").replace("pro_", "").replace("con_", ""), word
    explained = golden.made(protocol, "explain.txt")
    assert len(explained.split("\n")) <= 24, "one screen"
    assert all(line.text in " ".join(screen.split()) for line in of_card(protocol).lines[1:])


def of_card(protocol: str) -> Answer:
    card = fold_of(read_record(golden.LOGS / f"{protocol}.jsonl")).answer()
    assert card is not None
    return card
