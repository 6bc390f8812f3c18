"""Personalities of debaters: the five that come with Parley, and files of one's own."""

from pathlib import Path

import pytest

from parley.agents.protocols.competition import personas
from parley.agents.protocols.competition.personas import PersonalityError, load, parse
from parley.schemas.protocols.competition.messages import Settings
from tests.protocols.competition.simulate import format_named

GOOD = "quiet:\n  name: Quiet\n  characteristics: You say little.\n"


def test_the_five_of_the_seed_are_there_and_settings_take_them() -> None:
    five = load()
    assert list(five) == ["logical", "emotional", "data_driven", "aggressive", "diplomatic"]
    assert all(len(p.characteristics) > 100 and "\n" not in p.characteristics for p in five.values())
    settings = Settings(format=format_named("four_stage"), personalities=five, styles={"pro_1": "logical"})
    assert settings.personalities["logical"].name == "Logical"


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(GOOD, encoding="utf-8-sig")
    assert load(path)["quiet"].characteristics == "You say little."


@pytest.mark.parametrize(
    ("text", "field", "why"),
    [
        ("a: [", "", "is not YAML"),
        ("", "", "expected a mapping of names to personalities"),
        ("- a", "", "a mapping of names"),
        (GOOD + GOOD, "", "line 4: the key quiet stands here again"),
        ("A B: {}", "A B", "a name has 1 to 40 small letters"),
        ("7: {}", "7", "a name has"),
        ("quiet: loud", "quiet", "expected a mapping with name and characteristics"),
        ("quiet: {nam: x}", "quiet.nam", "did you mean name?"),
        ("quiet: {zzz: x}", "quiet.zzz", "known: name, characteristics"),
        ("quiet: {name: x}", "quiet.characteristics", "it is missing"),
        ("quiet: {name: 7, characteristics: x}", "quiet.name", "got 7, expected a text"),
        ("quiet: {name: '', characteristics: x}", "quiet.name", "got ''"),
        (f"quiet: {{name: {'x' * 81}, characteristics: x}}", "quiet.name", "80"),
        (f"quiet: {{name: x, characteristics: {'x' * 2001}}}", "quiet.characteristics", "2,000"),
        ('quiet: {name: "a\\eb", characteristics: x}', "quiet.name", "control character U+001B"),
        ("\n".join(f"p{i}: {{name: x, characteristics: x}}" for i in range(51)), "", "has 51 personalities"),
    ],
)
def test_what_cannot_be_used_is_named(text: str, field: str, why: str) -> None:
    with pytest.raises(PersonalityError) as refused:
        parse(text, "own.yaml")
    assert refused.value.field == field and why in str(refused.value) and str(refused.value).startswith("own.yaml: ")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin, large = tmp_path / "latin.yaml", tmp_path / "large.yaml"
    latin.write_bytes(b"caf\xe9: {}")
    large.write_bytes(b"#" * (personas.MAX_BYTES + 1))
    for path, why in ((tmp_path / "none.yaml", "cannot be read: No such file"), (latin, "byte 3"), (large, "200,001")):
        with pytest.raises(PersonalityError, match=why):
            load(path)
