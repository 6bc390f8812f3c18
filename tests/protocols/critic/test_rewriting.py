"""What a rewritten question has lost of the one that was asked."""

import pytest

from parley.coordinator.protocols.critic.rewriting import compared


@pytest.mark.parametrize(
    ("asked", "rewritten", "left_out", "added"),
    [
        ("Is tea with sugar healthy?", "Is tea healthy?", ("sugar",), ()),
        ("We fill cylinders. Full or empty?", "A club fills cylinders; full or empty?", (), ()),
        ("Surely everybody agrees that tape is best?", "Is tape best?", (), ()),
        ("Don't you think tape is best?", "Is tape best?", (), ()),
        ("Is it safe to not vent the tank?", "Is it safe to vent the tank?", ("not",), ()),
        ("Is it safe to vent the tank?", "Is it never safe to vent the tank?", (), ("never",)),
        ("Can 5 mg of warfarin be given?", "Can warfarin be given?", ("mg", "5"), ()),
        ("Can warfarin be given?", "Can 10 mg of warfarin be given?", (), ("10",)),
        ("Did Mercer write it?", "Did Mercator write it?", ("Mercer",), ()),
        ("Soll der Verein kein Geld leihen?", "Soll der Verein Geld leihen?", ("kein",), ()),
    ],
)
def test_what_is_left_out_and_added(
    asked: str, rewritten: str, left_out: tuple[str, ...], added: tuple[str, ...]
) -> None:
    found = compared(asked, rewritten)
    assert (found.left_out, found.added, found.another) == (left_out, added, False)


@pytest.mark.parametrize(
    ("asked", "rewritten", "another"),
    [
        ("Which medium should the archive use?", "Which planet is the largest?", True),
        ("Is aspirin good for patients?", "Is it harmful?", True),
        ("Which medium should the archive use?", "What should an archive keep its copies on?", False),
        ("水是湿的吗?", "水是不是湿的?", False),
        ("Why?", "For which reason?", False),
    ],
)
def test_question_words_are_no_subject(asked: str, rewritten: str, another: bool) -> None:
    assert compared(asked, rewritten).another is another
