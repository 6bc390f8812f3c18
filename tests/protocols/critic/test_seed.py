"""One test a sentence of seeds/madcap.md, quoted."""

import pytest

from parley.coordinator.briefing import build
from parley.coordinator.protocols.critic.state import LABEL_NOTE
from parley.schemas import log
from parley.schemas.protocols.critic import NO_NEW_OBJECTION, Rewritten, Settings
from parley.schemas.wire import decode, encode
from tests.protocols.critic.play import ASKED, REWRITTEN, Play, answer, how

QUICK = {"min_rounds": 1}


def shown(play: Play, entry: log.Entry) -> str:
    """The WORK messages of one transition, as text."""
    sendings = build(play.session, entry.n, entry.commands, key=b"k" * 32, lane="l", decided_ns=1)
    return "".join(encode(s.work).decode() for s in sendings)


# ---------------------------------------------------------------- Architecture: Three Agents, One Loop


def test_each_round_follows_the_same_sequence() -> None:
    """Answerer proposes a response. Critic challenges the response with specific objections. Judge evaluates both
    sides and decides whether to continue or terminate."""
    play = Play()
    play.round("it burns")
    play.round("it is slow", 50, 1)
    said = [(p.round, p.seat, p.kind) for p in play.session.posts if p.seat and p.round]
    assert said == [
        (n, *who) for n in (1, 2) for who in (("answerer", "answer"), ("critic", "objection"), ("judge", "judgement"))
    ]
    assert play.ask("answerer").round == 3


def test_the_judge_rewrites_the_question_first() -> None:
    """It first rewrites the question into a neutral, precise form. Where the judge gives no usable rewriting, the post
    says so, and the debate is about the question as asked."""
    play = Play(rewritten=False)
    assert play.asked() == [("judge", "rewrite")]
    assert ASKED in shown(play, play.entries[0])
    play.fail("judge")
    (post,) = play.posts("question")
    assert post.seat == "" and decode(post.body, Rewritten).question == ASKED
    assert play.phase == "answering"


def test_the_rewritten_question_is_debated_and_the_users_stands_beside_it() -> None:
    """The agents debate the rewritten question, not the user’s phrasing. The source shows them no other one; here they
    see beside it what was asked, so that no rewriting loses it."""
    play = Play({"measure_bias": True})
    play.answers()
    play.objects("it burns")
    play.judges()
    play.judges()
    play.answers()
    play.objects()
    play.judges()
    play.verdict("Tape, unless it burns")
    play.signs()
    play.countersigns()
    asked = [play.entries[n] for n in range(1, len(play.entries) - 1)]
    for entry in asked:
        fresh = Play({"measure_bias": True}, rewritten=False)  # the same session, as it was then
        fresh.now_ns, fresh.session = play.now_ns, fresh.session
        for e in play.entries[1 : entry.n + 1]:
            fresh.event(e.event, e.cause)
        text = shown(fresh, fresh.entries[-1])
        assert f"{REWRITTEN}\\n\\nAs it was asked: {ASKED}" in text, entry
    assert all(ASKED.encode() not in bytes(p.body) for p in play.session.posts), "posts hold the rewritten one alone"


def test_the_profile_is_a_running_list() -> None:
    """The profile is a running list of objections the Critic has already raised. Before generating a new critique, the
    Critic checks this profile to avoid repeating itself. After each round, the Judge appends the Critic’s objections to
    the profile. The next round’s Critic call includes the updated profile."""
    play = Play()
    profile: list[tuple[int, int, str]] = []
    for n, text in enumerate(("it burns", "it is slow", "nobody can read it"), 1):
        play.answers()
        assert [(o["number"], o["round"], o["text"]) for o in play.brief("critic")["profile"]] == profile
        assert play.ask("critic").sees == (play.posts("answer")[-1].n,)
        play.objects(text)
        assert len(play.session.inner.profile) == n - 1, "not before it is judged"
        play.judges()
        profile.append((n, n, text))
        assert play.last("tally")["found"] == n


# ---------------------------------------------------------------- State Management


def test_the_answerer_starts_fresh_each_round() -> None:
    """Answerer: Cross-Round State: None (starts fresh each round)."""
    play = Play()
    play.answers("Tape, my first thought")
    play.objects("it burns")
    entry = play.judges()
    ask = play.ask("answerer")
    assert ask.sees == () and ask.own is None
    assert play.brief("answerer").keys() == {"round", "profile"}
    text = shown(play, entry)
    assert "it burns" in text and REWRITTEN in text
    assert "my first thought" not in text, "nothing that it said before"
    play.answers("Disk", 1)
    play.objects("it is slow")
    text = shown(play, play.judges(50, 1))
    assert '"answered"' not in text and '"confidence"' not in text, "and nothing that was ruled on it"


def test_the_critic_keeps_its_profile_and_not_its_critiques() -> None:
    """Critic: Within-Round State: Current critique; Cross-Round State: Profile of past objections."""
    play = Play({**QUICK, "round_limit": 4})
    play.round("it burns")
    entry = play.answers("Disk")
    assert play.ask("critic").sees == (play.posts("answer")[-1].n,) and play.ask("critic").own is None
    assert "because Tape" not in shown(play, entry), "only the answer of this round"


def test_the_judge_keeps_its_confidence() -> None:
    """Judge: Within-Round State: Debate transcript; Cross-Round State: Confidence score, termination signal."""
    play = Play()
    play.round("it burns", 60)
    play.answers("Disk")
    play.objects("it is slow")
    assert play.session.inner.confidence == 54, "90 for a round that was tested, and 60 of 100 of it"
    assert "confidence" not in play.brief("judge"), "the moderator keeps it: a ruling is on what is said"
    pair = {play.posts("answer")[-1].n, play.posts("objection")[-1].n}
    assert set(play.ask("judge").sees) == pair


def test_confidence_rises_with_objections_addressed() -> None:
    """The Judge maintains a confidence score that increases when the Answerer addresses objections …"""
    play = Play()
    play.round("it burns")
    play.answers("Tape", 1)
    play.fail("critic")
    play.judges(100, 1)
    assert play.last("tally")["trend"] == [45, 93] and play.last("tally")["answered"] == [1]
    play.answers()
    play.fail("critic")
    play.judges(100)
    assert play.last("tally")["reopened"] == [1], "an answer that starts fresh may drop what it met before"
    assert play.last("tally")["confidence"] == 45


def test_confidence_falls_with_new_problems() -> None:
    """… and decreases when the Critic surfaces new problems."""
    play = Play()
    play.round("it burns", 80)
    play.round("it is slow", 75)
    assert play.last("tally")["trend"] == [72, 54], "by the weight of what was found"
    assert play.last("tally")["weight"] == 0.25


def test_the_judge_writes_a_verdict_and_exits() -> None:
    """When confidence crosses a threshold or the Critic runs out of novel objections, the Judge writes a verdict and
    exits."""
    play = Play(QUICK)
    play.round("it burns", 90)
    assert (play.ask("judge").kind, play.ask("judge").final) == ("verdict", True)
    assert play.brief("judge")["reason"] == "confidence"
    play.verdict("Tape, in a safe", "narrows")
    play.signs()
    play.countersigns()
    assert play.result.outcome["answer"] == "Tape, in a safe" and play.result.outcome["source"] == "verdict"
    assert play.result.status == "finished"


# ---------------------------------------------------------------- Termination Conditions


def test_confidence_threshold() -> None:
    """Confidence threshold: Judge’s confidence score exceeds a preset value."""
    play = Play({"min_rounds": 2, "threshold": 74.4})
    play.round("it burns", 90)
    assert play.session.inner.confidence == 81 and play.phase == "answering", "too early to believe it"
    play.round("it is slow", 80, 1)
    assert play.stop["reason"] == "confidence" and play.stop["converged"]
    assert (play.certificate["confidence"], play.certificate["threshold"]) == (74.4, 74.4)


def test_objection_exhaustion_by_a_duplicate() -> None:
    """Eventually the Critic’s LLM call returns a critique that duplicates a past objection. The Judge detects this
    duplication and terminates."""
    play = Play(QUICK)
    play.round("it burns", 80)
    play.answers()
    play.objects("Fire is its end")
    play.judges(80, repeats=1)
    assert play.stop["reason"] == "objections_exhausted" and play.stop["converged"]
    assert play.certificate["duplicates"] == [play.last("repeated")] == [
        {"objection": "Fire is its end", "repeats": 1, "text": "it burns", "weight": 0.2},
    ]  # fmt: skip
    assert play.certificate["objections"] == 1, "a duplicate is not appended"


def test_round_limit() -> None:
    """Round limit: Hard cap on debate rounds (prevents infinite loops)."""
    play = Play({"round_limit": 2})
    play.round("it burns")
    play.round("it is slow")
    assert play.stop["reason"] == "round_limit" and not play.stop["converged"]
    assert (play.certificate["round"], play.certificate["round_limit"]) == (2, 2)
    assert play.result.outcome["open_objections"] == [1, 2]


def test_the_label_says_that_it_is_informational() -> None:
    """The confidence label in the final output is informational, not a hard guarantee."""
    for score, confidence, label in ((90, 0.81, "high"), (60, 0.54, "medium"), (20, 0.18, "low")):
        play = Play({"round_limit": 1, "min_rounds": 1})
        play.round("it burns", score)
        play.ends()
        outcome = play.result.outcome
        assert (outcome["label"], outcome["label_note"]) == (label, LABEL_NOTE)
        assert "informational" in LABEL_NOTE and "no guarantee" in LABEL_NOTE
        assert outcome["confidence"] == confidence
        assert play.certificate["label_note"] == LABEL_NOTE


# ---------------------------------------------------------------- Conceptual Flow: Critic Profile Check


@pytest.mark.parametrize("said", [NO_NEW_OBJECTION, f"\n*{NO_NEW_OBJECTION}.*"])
def test_no_new_objection(said: str) -> None:
    """If you cannot, respond with "NO_NEW_OBJECTION". If the Critic cannot generate a new objection that differs from
    the profile, the debate terminates."""
    play = Play(QUICK)
    play.answers()
    play.objects(said)
    assert play.phase == "concluding" and play.last("objection")["number"] == 0
    assert (play.stop["reason"], play.last("tally")["source"]) == ("objections_exhausted", "nothing")
    assert play.session.inner.profile == () and not play.posts("judgement"), "nobody rules where there is nothing"


# ---------------------------------------------------------------- Observability: What You See in the CLI


def test_the_full_transcript() -> None:
    """You see: The rewritten question. Each round’s Answerer response. Each round’s Critic objections. The Judge’s
    verdict and confidence label."""
    play = Play(QUICK)
    play.round("it burns", 30)
    play.reply("answerer", answer("Tape in a safe", 1, reasoning=f"a safe does not burn: {how(1)}"))
    play.objects()
    play.judges(100, 1)
    play.ends()
    public = [(p.kind, p.round) for p in play.session.posts if p.channel == "public"]
    assert public == [
        ("question", 0), ("answer", 1), ("objection", 1), ("judgement", 1), ("tally", 1), ("answer", 2),
        ("objection", 2), ("judgement", 2), ("tally", 2), ("verdict", 2),
        ("countersignature", 2),
    ]  # fmt: skip
    result = play.result
    assert result.outcome["question"] == REWRITTEN
    assert [r["answer"]["answer"] for r in result.rounds] == ["Tape", "Tape in a safe"]
    assert [r["raised"]["objection"] for r in result.rounds] == ["it burns", NO_NEW_OBJECTION]
    assert [r["confidence"] for r in result.rounds] == [27, 93]
    assert result.outcome["label"] == "high"
    assert [(o["text"], o["answered"]) for o in result.outcome["objections"]] == [("it burns", True)]


def test_defaults_carry_what_the_seed_says() -> None:
    """In practice, objection exhaustion is the most common termination path."""
    s = Settings()
    assert s.min_rounds > 2, "premature: the debate ends after one or two rounds"
    assert s.round_limit > s.min_rounds
