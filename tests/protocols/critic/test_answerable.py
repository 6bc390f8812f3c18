"""What the answerer and the critic cannot be asked for twice: objections that contradict each other, and a calculation
that was made."""

from parley.schemas.protocols.critic import NO_NEW_OBJECTION, Judgement
from tests.client import shown
from tests.protocols.critic.play import Play, judgement


def test_objections_that_contradict_each_other_are_shown_together() -> None:
    play = Play({"round_limit": 3})
    play.round("tape lasts too short a time", 60)
    play.answers("Tape", 1)
    play.objects("tape lasts longer than anybody needs")
    play.reply("judge", judgement(60, 1, contradicts=(1,)))
    first, second = play.brief("answerer")["profile"]
    assert "contradicts" not in first and second["contradicts"] == [1]
    assert play.last("tally")["profile"][1]["contradicts"] == [1]


def test_a_contradiction_is_with_an_objection_that_there_is() -> None:
    play = Play()
    play.answers()
    play.objects("it burns")
    play.reply("judge", Judgement(score=60, contradicts=(1,)))
    assert play.ask("judge").error == "contradicts: there is no objection 1; the profile's numbers are none so far"


def test_who_shows_a_check_is_judged() -> None:
    play = Play({"min_rounds": 3})
    play.answers()
    play.objects(NO_NEW_OBJECTION, checked="13 * 17 = 221")
    assert play.phase == "judging" and play.brief("judge")["checked"] == "13 * 17 = 221"
    play.judges(100, check_holds=True)
    assert play.phase == "concluding"
    lines = shown.posts(play.session.posts)
    assert any("It computed: 13 * 17 = 221" in text for text in lines)
    assert any("The critic's calculation holds" in text for text in lines)
