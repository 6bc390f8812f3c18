"""Options and commands that belong to protocols: declared in their SETUPs, and there without a general file's help."""

import re
from pathlib import Path

import pytest
import typer

from docs.generators import commands_page
from parley.cli.app import app
from parley.cli.ask_help import AskCommand
from parley.cli.protocol_options import SECTIONS, by_protocol, declared, document_of, settings_of
from parley.client import estimate
from parley.client.errors import BadInput
from parley.client.opening import opening_of, read_evidence, with_panel
from parley.client.protocols import all_setups, setup_of
from parley.client.setup.options import PANEL, SESSION, Option
from parley.client.setup.setup import Setup, Several, in_order
from parley.planned.plan import plan_of
from parley.settings import load, protocol_settings
from tests.support import forks

ROOT = Path(__file__).parents[2]


def test_every_option_stands_in_one_row_and_sets_what_its_protocol_has() -> None:
    flags = [option.flag for option in declared("options")]
    assert len(set(flags)) == len(flags) and len({option.setting for option in SESSION}) == len(SESSION)
    by_flag: dict[str, Option] = {}
    for setup in all_setups():
        settings = protocol_settings(setup.name)
        assert settings is not None
        for option in setup.options:
            assert by_flag.setdefault(option.flag, option) == option, "protocols share it only where it is the same"
        for option in (*setup.options, *setup.stack_options):
            seats = option.flag == PANEL.flag and setup.several is not None
            assert option.setting in settings or seats, (setup.name, option.flag)


def test_two_options_of_one_setting_are_put_together_and_options_of_any_session_have_their_place() -> None:
    given = {"files": ["a"], "file": ["b"], "threshold": 0.0, "ordered": True, "budget_usd": 0.5, "continue_": "s1"}
    assert settings_of("options", given) == {"files_mentioned": ["a", "b"], "threshold": 0.0, "ordered": True}
    sets = {"consensus": {"quorum": 2}, "budget": {"calls": 3}}
    text, document, notes = document_of(["q"], {**given, "folder": Path("x")}, sets)
    assert (text, notes) == ("q", [])
    assert document == {
        "settings": {"consensus.quorum": 2, **settings_of("options", given)}, "budget": {"cost_usd": 0.5},
        "continues": "s1", "folder": Path("x"),
    }  # fmt: skip


def test_the_number_of_seats_is_the_setting_of_the_role_of_which_there_are_several() -> None:
    for protocol, setting in (("maci", "debaters"), ("consensus", "panel")):
        assert with_panel(protocol, {"round_limit": 4}, 3) == {setting: 3, "round_limit": 4}
        assert with_panel(protocol, {setting: 3}, 3) == {setting: 3}
    assert with_panel("critic", {"round_limit": 4}, None) == {"round_limit": 4}
    with pytest.raises(BadInput, match=r"^panel: got 3, and 2 in the settings; leave one out$"):
        with_panel("maci", {"debaters": 2}, 3)
    with pytest.raises(BadInput, match=r"^panel: got 0, allowed is 2 to 16, or auto$"):
        with_panel("consensus", {}, 0)
    assert by_protocol("stack_options", {"panel": 4}) == {"consensus": {"panel": 4}, "maci": {"debaters": 4}}


def test_a_question_comes_from_the_command_line_or_from_an_option_and_not_from_both(tmp_path: Path) -> None:
    topics = tmp_path / "topics.yaml"
    topics.write_text("week: {motion: This house would., stances: {pro: yes it would}}\n")
    topic = {"topic": f"{topics}#week"}
    text, document, _ = document_of(None, topic, {})
    assert (text, document["settings"]) == ("This house would.", {"stances": {"pro": "yes it would"}})
    with pytest.raises(BadInput, match="--topic gives the question, and you also typed one"):
        document_of(["q"], topic, {})
    with pytest.raises(BadInput, match='nothing was asked: parley ask "YOUR QUESTION", - to read it, or a --topic'):
        document_of(None, {}, {})


def test_defaults_seat_any_protocol() -> None:
    maci = setup_of("maci")
    queues = ("debater_1", "debater_2", "judge", "judge_2", "judge_3", "analyst", "helper")
    assert maci.queues({}) == queues, "three judges, three queues"
    assert maci.queues({"judges": 1}) == Setup("maci", several=maci.several).queues({})
    several = Setup("x", several=Several("one", "ones", 2), others=("other",))
    assert several.queues({}) == ("one_1", "one_2", "other") and several.queues({"ones": 1}) == ("one_1", "other")
    assert [s.name for s in in_order([Setup("b"), Setup("a"), Setup("c", rank=1)])] == ["c", "a", "b"]


def test_each_command_of_parley_stands_in_one_section_of_the_help() -> None:
    placed = [name for names in SECTIONS.values() for name in names]
    own = [command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands]
    assert sorted(placed) == sorted([*own, *(str(group.name) for group in app.registered_groups)])


def test_every_command_gives_an_example() -> None:
    commands = commands_page._commands(typer.main.get_command(app))
    helps = {path: it.help for path, it in commands if not hasattr(it, "list_commands")}
    assert len(helps) > 40 and [path for path, text in helps.items() if "Example" not in text] == []


def flags_of(*words: str) -> tuple[set[str], str]:
    """The options that the help lists, and its text."""
    code, text, err = forks.run("ask", *words)
    assert code == 0, err
    return set(re.findall(r"^ {2}(?:-\w, )?(--[a-z-]+)", text, re.M)), text


def test_the_help_of_ask_lists_at_most_26_options_those_of_the_protocol_and_all_where_that_is_asked_for() -> None:
    common, text = flags_of("--help")
    assert len(common - {"--help"}) <= 26
    line = " ".join(text[text.index("  --protocol") : text.index("  --evidence PATH")].split())
    assert all(setup.name in line for setup in all_setups())
    for words in (("--protocol", "maci", "--help"), ("--help", "--protocol=maci")):
        listed, _ = flags_of(*words)
        assert common < listed and {o.flag for o in setup_of("maci").options} <= listed
        assert "--style" not in listed and "--apply" not in listed
    command = typer.main.get_command(app).commands["ask"]  # type: ignore[attr-defined]
    assert isinstance(command, AskCommand)
    options = [p for p in command.get_params(typer.Context(command)) if p.param_type_name == "option"]
    assert {p.opts[0] for p in options if not p.hidden} == flags_of("--help-all")[0]


TEAM = "members: {ada: {expertise: [law]}, ben: {}, cem: {}, dora: {expertise: [databases]}}"


@pytest.mark.parametrize(
    ("panel", "size", "sits"), [(None, 3, "dora ada ben"), (2, 2, "dora ada"), ("auto", 0, "dora ada ben")]
)
def test_of_a_team_those_sit_who_fit_the_question(tmp_path: Path, panel: object, size: int, sits: str) -> None:
    """All members are served, so that one may join later. `auto` is for a protocol that chooses."""
    (tmp_path / "team.yaml").write_text(TEAM)
    plan = plan_of(load(None, {"panel_file": tmp_path / "team.yaml", "protocol": "consensus"}))
    given = {} if panel is None else {"panel": panel}
    (tmp_path / "a.md").write_text("Postgres lasts.")
    documents = read_evidence("consensus", tmp_path / "a.md")
    opening = opening_of("Which databases last?", given, documents, plan.offer("consensus"), door="ask")
    assert opening.settings["panel"] == size and len(opening.seats) == 5
    plan = plan.of(opening)
    assert {row.queue for row in plan.rows} == {"ada", "ben", "cem", "dora", "analyst"}
    seated = estimate.of(opening, plan.announced)
    assert [one.seat for one in seated.chosen] == sits.split()
    assert [s.seat for s in seated.seats if s.role == "panelist"] == sits.split()
    with pytest.raises(BadInput, match="got auto with maci"):
        with_panel("maci", {}, "auto")
