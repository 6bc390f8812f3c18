"""What goes with a task from the command line: files, code, an earlier conversation; bad values are named."""

from pathlib import Path

import pytest

from parley.client.errors import BadInput
from parley.client.opening import opening_of
from parley.client.protocols.madp import task_files
from tests.parley.support import Front


def test_a_conversation_is_json_lines_of_role_and_text(tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    file.write_text('{"role": "user", "text": "It is slow."}\n\n{"role": "assistant", "text": "Since when?"}\n')
    assert task_files.conversation(file) == [
        {"role": "user", "text": "It is slow."}, {"role": "assistant", "text": "Since when?"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"role": "user", "text": "a"}\n{"role": "user"}', r"line 2: .*missing required field `text`"),
        ('{"role": "user", "text": "a", "mood": "b"}', r"line 1: .*unknown field `mood`"),
        ('{"role": "user", "text": 7}', "line 1: .*Expected `str`"),
        ('{"role": "system", "text": "a"}', r"line 1: role: got 'system', expected user or assistant"),
        ('{"role": "", "text": "a"}', r"line 1: .*prior_conversation\.role"),
        ("- role: user", "line 1: .*malformed"),
        ("\n", "has no message"),
    ],
)
def test_a_line_that_is_no_message_is_named(tmp_path: Path, text: str, why: str) -> None:
    file = tmp_path / "said.jsonl"
    file.write_text(text)
    with pytest.raises(BadInput, match=why) as found:
        task_files.conversation(file)
    assert found.value.field == "conversation"


def test_snippets_are_texts(tmp_path: Path) -> None:
    good, bad, long = tmp_path / "a.py", tmp_path / "b.bin", tmp_path / "c.py"
    good.write_text("def a(): ...\n")
    bad.write_bytes(b"\xff\xfe")
    long.write_text("x" * 50_001)
    assert task_files.snippets([good]) == ["def a(): ...\n"]
    for path, why in ((bad, "is not UTF-8 text"), (long, "50,001 characters, the limit is 50,000"),
                      (tmp_path / "none.py", "cannot read")):  # fmt: skip
        with pytest.raises(BadInput, match=why):
            task_files.snippets([path])


def test_options_of_a_task_are_refused_for_other_protocols_by_their_name() -> None:
    for setting, option in (("files_mentioned", "--files"), ("code_snippets", "--snippet"), ("expert", "--expert"),
                            ("prior_conversation", "--conversation"), ("folder", "--folder")):  # fmt: skip
        given = {"protocol": "consensus", "settings": {setting: "x"}}
        with pytest.raises(BadInput, match=f"{option} is not for consensus, but for madp"):
            opening_of("q", given, door="ask", flags={option.removeprefix("--")})


@pytest.mark.slow
def test_bad_values_are_refused_before_anything_starts(tmp_path: Path) -> None:
    front = Front(tmp_path)
    for options, why in (
        (("--expert", "Not An Id"), "it is no expert's id"),
        (("--folder", "nowhere"), "nowhere is not a folder"),
        (("--apply",), "--apply writes the result into --folder"),
        (("--files", ""), "--files: "),
        (("--file", ""), "--file: "),
    ):
        code, out, err = front.run("ask", "--protocol", "madp", "Fix it", *options)
        assert code == 2 and why in err and out == "", (options, err)
    assert not front.state.exists() and front.left() == []
