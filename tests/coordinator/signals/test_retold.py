"""What a text says that was counted, against what was: a table of texts that contradict it, and of others."""

import pytest

from parley.coordinator.signals.retold import Count, Side, all_of_one_mind, contradiction

COUNT = Count(
    sides={
        "pro": Side(
            names=("Proposition", "pro", "affirmative", "team for the motion"), figures=(42.8, 53.05, 7.13, 6.0)
        ),
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
    "Winner: **con**",
    "Opposition, led by con_1, clearly prevailed.",
    "Proposition narrowly loses to Opposition.",
    "Opposition beats Proposition.",
    "The debate ended in a draw.",
    "Opposition scored 99 points.",
    "It ended 18.1 to 60.",
    "Overall, Opposition was victorious.",
    "My verdict is for the Opposition.",
    "Opposition carried the day, because it weighed better.",
    "Congratulations to the Opposition, who won the debate!",
    "Proposition was beaten by a better team.",
    "L'Opposition remporte le débat.",
    "Die Debatte endete unentschieden.",
    "Gewonnen hat die Opposition.",
    "all voters in the audience agreed with Proposition",
    "This debate belongs to the Opposition.",
    "Opposition defeated the Proposition on all counts.",
    "The result is a tie.",
    "It's a draw.",
    "The debate was a draw.",
    "Neither team won.",
    "Opposition finished ahead.",
    "Opposition finishes with 50 points, Proposition with 40.",
    "Score: 50 to 40 for Opposition.",
    "The Opposition therefore won the debate.",
    "I hereby name the Opposition as the winning team.",
    "The winning side: Opposition.",
    "Die Opposition siegt klar.",
    "Die Proposition hat verloren.",
    "Der Gewinner ist die Opposition.",
    "L'Opposition l'emporte.",
    "La Proposition a perdu.",
    "Match nul.",
    "con_1 is the best speaker.",
    "The team for the motion lost.",
    "The negative team wins.",
    "Opposition won, no question.",
    "The Opposition, not the Proposition, won.",
    "The bench rules for the Opposition.",
    "Opposition secured the win.",
    "Proposition goes home defeated.",
    "Proposition ended with fewer points than Opposition.",
    "Opposition had more points than Proposition.",
    "Opposition is ahead by 5 points.",
    "Opposition leads with 70 points.",
    "So hat die Opposition die Debatte gewonnen.",
    "Der Sieg gehört der Opposition.",
    "L'Opposition a remporté le débat.",
    "My decision is the Opposition.",
    "Opposition took first place.",
    "This one goes to the Opposition.",
    "The Opposition had the majority of points and thus wins.",
    "The Proposition has lost this debate.",
    "The Proposition has been defeated.",
    "Opposition a battu Proposition.",
    "No one won this debate.",
    "Clearly, Con won this one.",
    "Opposition gewinnt die Debatte knapp.",
    "C'est l'Opposition qui a gagné.",
]
"""Each says plainly what was not counted."""

AGREE = [
    "Proposition won, 42.8 to 18.1.",
    "Whoever says “Opposition has won this debate by far” did not listen.",
    "The debate turned on the question of cost. Both sides agreed that it is high.",
    "Die Proposition gewinnt mit 42,8 zu 18,1 Punkten.",
    "Whether Opposition won is for the count to say.",
    "Proposition won because it answered; the Opposition had better figures but lost 30 points for overtime.",
    "With 42.8 points Proposition has won against 18.1 of the Opposition.",
    "If I may say so, this was good.",
    "The trial of 2019 to 2021 showed 12 points less.",
    "A ratio of 3:1 speaks for the Proposition's total.",
    "The winning side: Proposition.",
    "Proposition wins this debate; Opposition wins our respect.",
    "Opposition scored 18.1, 30 points of it lost to fines.",
    "Opposition won more marks in logic: 7.0.",
    "Opposition wins nothing by repeating itself.",
    "Opposition has the better evidence; Proposition wins by rule.",
    "The Opposition's best debater was con_1.",
    (
        "Opposition brought more sources (12 to 4) and asked better questions. It lost because it answered "
        "none. Best debater: pro_2."
    ),
    "Proposition 42.8. Opposition 18.1. Fines: Opposition 30 points.",
    "If one counts marks alone, the winner is Opposition.",
    "A draw was near after the second stage, 20 to 20.",
    "Opposition wins points for style; Proposition for substance.",
    "The winner of the toss, Opposition, spoke second.",
    "Opposition was the winner of the cross-examination.",
    "Both sides agreed that all advertising to toddlers is wrong.",
    "In 2019 the con artists won 99 to 1 in court, pro_1 said.",
    "Opposition argued that schools win when sponsors pay.",
    "A ban is no victory for children, Opposition held.",
    "The Proposition's lead grew from 2 to 24 points in the free debate.",
    "The Opposition's weakest moment was its closing; the Proposition's best was its opening.",
    "The Opposition spoke as if it had won already.",
    "What would the Opposition have needed? One answer in the cross-examination.",
    "Opposition, on the other hand, won little by attacking the study.",
    "It was the overtime that lost Opposition the debate.",
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
