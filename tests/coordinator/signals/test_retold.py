"""What a text says that was counted, against what was: a table of texts that contradict it, and of others."""

import pytest

from parley.coordinator.signals.retold import Count, Side, all_of_one_mind, contradiction

COUNT = Count(
    sides={
        "pro": Side(names=("Proposition", "pro", "affirmative"), figures=(42.8, 53.05, 7.13, 6.0)),
        "con": Side(names=("Opposition", "con", "negative"), figures=(18.1, 48.1, 30.0, 6.87, 7.0)),
    },
    winner="pro",
    figures=(24.7,),
    best=("pro_2",),
    voters=("audience", "vot", "publikum"),
    unanimous=False,
)
"""Proposition won, 42.8 to 18.1: Opposition had lost 30 points to penalties."""

CONTRADICT = [
    "Opposition has won by a wide margin, 99 to 3.",
    "A close debate. In the end the Opposition wins.",
    "The winner is Opposition.",
    "Winner: **con**",
    "The winner of the debate is, without a doubt, the Opposition.",
    "Victory goes to the Opposition.",
    "The debate was won by the negative.",
    "Opposition, led by con_1, clearly prevailed.",
    "Proposition lost.",
    "Proposition narrowly loses to Opposition.",
    "On every question they were better, and Opposition won the debate.",
    "Opposition beats Proposition.",
    "I find in favour of the Opposition.",
    "The debate ended in a draw.",
    "Nobody won.",
    "Proposition wins: 61 to 58 points.",
    "Proposition won by 3 points.",
    "Opposition scored 99 points.",
    "Proposition won. Its total is not small. Opposition: 42.8 points.",
    "The best debater was con_1.",
    "The audience voted unanimously for Proposition.",
    "Die Opposition hat gewonnen.",
    "Sieger ist die Opposition.",
    "L'Opposition a gagné.",
    "La victoire revient à l'Opposition.",
    "The verdict: Opposition.",
    "Opposition is the clear winner, and Proposition did badly.",
    "There is no doubt that Opposition won on points.",
    "After a long evening, the Opposition takes the debate.",
    "The Opposition side wins this debate comfortably.",
    "Con wins.",
    "So the victory belongs to the Con team.",
    "Final result: Opposition 53.05, Proposition 41.3 points.",
    "It ended 18.1 to 60.",
    "Overall, Opposition was victorious.",
    "The Opposition's team emerged as the winner.",
    "My verdict is for the Opposition.",
    "Opposition came out on top.",
    "Opposition carried the day, because it weighed better.",
    "Opposition outscored Proposition 50 to 40.",
    "Congratulations to the Opposition, who won the debate!",
    "I award the debate to the Opposition.",
    "The negative has won.",
    "Proposition was beaten by a better team.",
    "Proposition loses the debate on points.",
    "I declare Opposition the winner.",
    "The judges crown Opposition as winners.",
    "Opposition wins 99-3.",
    "L'Opposition remporte le débat.",
    "Le vainqueur est l'Opposition.",
    "Die Debatte endete unentschieden.",
    "Gewonnen hat die Opposition.",
    "Der Sieg geht an die Opposition.",
    "all voters in the audience agreed with Proposition",
    "con_1 was the best debater of the evening.",
]
"""Each says plainly what was not counted."""

AGREE = [
    "Proposition won, 42.8 to 18.1.",
    "Proposition wins by 24.7 points; the best debater was pro_2.",
    "Without the penalties Opposition would have won.",
    "Opposition had the better of the clash over costs.",
    "Opposition won the exchange on evidence, and lost the free debate.",
    "Opposition did not win, although it had the better evidence.",
    "con_1 argued that Opposition has won; it has not.",
    "Opposition won over part of the room.",
    "Whoever says “Opposition has won this debate by far” did not listen.",
    "Opposition lost 30 points to penalties, and that decided it.",
    "Opposition lost the thread in its second speech.",
    "Opposition almost won.",
    "If questions alone counted, Opposition wins.",
    "Proposition led 53 to 48 before fines, and Proposition won.",
    "The means were close: 7.13 to 6.87 points a speech.",
    "con_1 spoke 99 words where 75 were allowed.",
    "The debate turned on the question of cost. Both sides agreed that it is high.",
    "It is a draw between two ways to read the study.",
    "Nobody won over the undecided.",
    "The best debater of the free debate was con_1.",
    "The audience was not unanimous.",
    "Opposition's win in the cross-examination was deserved.",
    "The Opposition could have answered 3 to 5 questions more.",
    "Die Opposition hätte ohne Strafen gewonnen.",
    "Die Proposition gewinnt mit 42,8 zu 18,1 Punkten.",
    "L'Opposition n'a pas gagné.",
    "Whether Opposition won is for the count to say.",
    "Opposition was beaten by Proposition.",
    "Opposition lost to Proposition.",
    "The pro and con arguments were worth about 10 points each.",
    "Opposition should have won more of its own ground.",
    "Proposition was good on evidence. Opposition was better on tone. The count decides.",
    "Proposition won because it answered; the Opposition had better figures but lost 30 points for overtime.",
    "Opposition led by 48.1 to 53.05 before penalties.",
    "On the question of costs the Opposition won; on health the Proposition did.",
    "The Opposition won on costs.",
    "Opposition won the point about schools.",
    "The motion wins support among parents, Opposition said.",
    "Proposition beat Opposition on rebuttal, and it won.",
    "Proposition wins, Opposition loses.",
    "With 42.8 points Proposition has won against 18.1 of the Opposition.",
    "What decided were penalties: five overtimes at 5 points cost Opposition 25 points.",
    "Opposition must learn to win the room.",
    "On the first question Proposition had the better of it: 3 of 4 studies. On the second Opposition was stronger.",
    "The debate was played to its end. Opposition failed to answer con_1's question. Speech 3 to 5 were strong.",
    "A win for Opposition would need better evidence.",
    "Pro wins the debate. Con's first speech was the evening's best, and con_1 the best debater of its team.",
    "Opposition won more exchanges, Proposition won the debate.",
    "If I may say so, this was good.",
    "Opposition, which won the toss, spoke second.",
    "Proposition won all stages.",
    "It was Opposition's debate to lose, and it lost.",
    "The score in the second stage was 12 to 10.",
    "Both teams did well, 8 to 9 in every mark.",
    "In the 18 to 24 age group 30 percent win.",
    "The trial of 2019 to 2021 showed 12 points less.",
    "A ratio of 3:1 speaks for the Proposition's total.",
    "Proposition 42.8, Opposition 18.1 (points).",
    "Opposition showed that a free bus wins riders.",
    "Opposition argued well and wins my respect.",
    "Opposition wins on style but Proposition wins on points.",
]
"""None says plainly what was not counted."""


@pytest.mark.parametrize("text", CONTRADICT)
def test_a_text_that_says_otherwise_than_was_counted_is_found(text: str) -> None:
    assert contradiction(text, COUNT)


@pytest.mark.parametrize("text", AGREE)
def test_a_text_that_does_not_is_left_alone(text: str) -> None:
    assert contradiction(text, COUNT) == ""


def test_nobody_won_and_a_text_names_a_winner() -> None:
    nobody = Count(sides=COUNT.sides)
    assert contradiction("Proposition won.", nobody) == "it says that Proposition won"
    assert contradiction("Nobody won.", nobody) == ""
    assert contradiction("The debate ended in a draw.", nobody)


def test_a_draw_has_no_winner() -> None:
    draw = Count(sides=COUNT.sides, winner="draw")
    assert contradiction("The debate ended in a draw.", draw) == ""
    assert contradiction("Proposition wins.", draw)


@pytest.mark.parametrize(
    "text",
    [
        "All agreed.", "All three reviewers approved it.", "It was approved by all reviewers.", "There was no dissent.",
        "It passed without dissent.",
        "The panel was unanimous.", "Nobody objected.", "Everyone agrees with this.", "Both experts agree.",
        "Alle Gutachter stimmten zu.", "Der Beschluss war einstimmig.", "Tous sont d'accord.", "À l'unanimité.",
    ],
)  # fmt: skip
def test_a_text_that_says_that_all_agreed(text: str) -> None:
    assert all_of_one_mind(text)


@pytest.mark.parametrize(
    "text",
    [
        "Not all agreed.", "It was not unanimous.", "If all agree, it ends.", "Two of three agreed.",
        "All questions are open.",
        "They agreed to meet.", "Nicht alle stimmten zu.", "The seats do not all agree.", "Almost everybody agreed.",
    ],
)  # fmt: skip
def test_a_text_that_does_not_say_that_all_agreed(text: str) -> None:
    assert not all_of_one_mind(text)


def test_of_whom_it_says_so_matters() -> None:
    text = "The council of Kaunas voted unanimously."
    assert all_of_one_mind(text) and not all_of_one_mind(text, ("reviewer", "expert"))
