"""Tools over MCP: the server that ships and one that is hostile, both real processes."""

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from parley.agents.tools.allow import AllowList
from parley.agents.tools.client import MASK, Called, Toolbox
from parley.agents.tools.folder import FolderError, TaskFolder
from parley.agents.tools.steps import Call
from parley.schemas.tools import START, call_words
from tests.support.engine import until
from tests.tools.support import files_list, hostile_list, packed

pytestmark = [pytest.mark.slow]


async def made(
    box: Toolbox, tool: str, arguments: Mapping[str, Any] | str, server: str = "", left_s: float = 30
) -> Called:
    """One call."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    name = server or next(iter(o.server for o in box.offered))
    return await box.call(Call(server=name, tool=tool, arguments=text), left_s)


async def gone(pid: int) -> None:
    """Wait until a process has ended."""

    async def ended() -> bool:
        return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE

    await until(ended)


PATCH = """--- a/app.py
+++ b/app.py
@@ -7,1 +7,1 @@
-print('hello')
+print('bye')
--- /dev/null
+++ b/d.txt
@@ -0,0 +1,1 @@
+new
"""


async def test_files_are_listed_read_written_replaced_searched_and_deleted() -> None:
    with TaskFolder(packed(app_dot_py="print('hi')\n", src__a_dot_txt="one\ntwo\nthree\n")) as folder:
        async with Toolbox(files_list(), folder) as box:
            assert {o.tool for o in box.offered} == {t for s in files_list().servers.values() for t in s.tools}
            assert all(o.description and set(o.arguments["properties"]) for o in box.offered)
            found = [
                await made(box, "list_files", {}),
                await made(box, "read_file", {"path": "src/a.txt", "first_line": 2, "lines": 1}),
                await made(box, "write_file", {"path": "new/b.txt", "content": "see ../x and /etc/passwd\n"}),
                await made(box, "replace_in_file", {"path": "app.py", "old": "hi", "new": "hello"}),
                await made(box, "search", {"pattern": "EL+O", "ignore_case": True}),
                await made(box, "delete_file", {"path": "src/a.txt"}),
                await made(box, "move_file", {"path": "new/b.txt", "to": "old/c.txt"}),
                await made(box, "apply_patch", {"patch": PATCH}),
            ]
        assert [f.record.ok for f in found] == [True] * 8, [f.text for f in found]
        assert "app.py (12)" in found[0].text and found[1].text.startswith("two\n\n[lines 2 to 2 of 3]")
        assert found[4].text == "app.py:1: print('hello')"
        assert {k: v[0] for k, v in folder.look().items()} == {
            "app.py": b"print('bye')\n", "old/c.txt": b"see ../x and /etc/passwd\n", "d.txt": b"new\n",
        }  # fmt: skip
        assert found[3].record.arguments == '{"path": "app.py", "old": "hi", "new": "hello"}'
        assert all(0 <= f.record.seconds < 20 for f in found)


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("read_file", '{"path": "../../etc/passwd"}', "leads out of the task's folder"),
        ("read_file", '{"path": "file:///etc/passwd"}', "is an address"),
        ("read_file", '{"path": ["a", "/etc/passwd"]}', "leads out"),
        ("write_file", '{"path": ".git/hooks/post-checkout", "content": "x"}', "repository"),
        ("write_file", '{"path": "~/.bashrc", "content": "x"}', "begins with ~"),
        ("read_file", '{"path": "a", "extra": "--config=/etc/passwd"}', "extra looks like a path"),
        ("read_file", '{"path": "a", "extra": "linked"}', "extra looks like a path"),
        ("read_file", "[]", "expected a JSON object"),
        ("read_file", "[" * 100_000, "expected a JSON object"),
        ("run", "{}", "tool 'run' of files is not allowed"),
    ],
)
async def test_a_call_that_leads_out_is_not_made(tool: str, arguments: str, why: str) -> None:
    with TaskFolder(packed(a="x")) as folder:
        os.symlink("/etc/passwd", folder.root / "linked")
        box = Toolbox(files_list(), folder)  # never started: what is refused needs no server
        called = await box.call(Call(server="files", tool=tool, arguments=arguments), 10)
        assert not called.record.ok and called.text.startswith("The call was refused") and why in called.text
        assert "root:" not in called.text and str(folder.root) not in called.text


async def test_a_server_that_nobody_allowed_is_not_there() -> None:
    with TaskFolder() as folder:
        called = await Toolbox(files_list(), folder).call(Call(server="shell", tool="run"), 10)
        assert "server 'shell' is not known: call the tools that you were told of" in called.text


async def test_the_environment_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("LLM_API_KEY", "sk-very-secret")
    allowed = hostile_list(env={"WHERE": "{folder}", "TOKEN": "token-of-the-operator"})
    with TaskFolder() as folder:
        async with Toolbox(allowed, folder) as box:
            called = await made(box, "env", {})
        assert called.record.ok and "sk-very" not in called.text
        assert "token-of-the-operator" not in called.text + called.record.result, "the operator's values go nowhere"
        found = json.loads(called.text)
        names = set(found["environ"]) - {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"}  # which Python and macOS set themselves
        assert names == {"PATH", "LANG", "HOME", "WHERE", "TOKEN"}
        assert found["environ"]["HOME"] == str(folder.home) and found["cwd"] == str(folder.root)
        await gone(found["pid"])


async def test_a_secret_of_the_list_is_masked_where_it_is_shown_and_never_in_a_file() -> None:
    secret = "token-of-the-operator"
    allowed = files_list().model_copy(
        update={"servers": {**files_list().servers, **hostile_list(env={"TOKEN": secret, "SHORT": "x = 1"}).servers}}
    )
    text = f"x = 1\nkey = '{secret}'\n"
    with TaskFolder(packed(app_dot_py=text)) as folder:
        async with Toolbox(allowed, folder) as box:
            read = await made(box, "read_file", {"path": "app.py"}, "files")
            assert (
                "x = 1" in read.text and f"key = '{MASK}'" in read.text and secret not in read.text + read.record.result
            )
            back = {"path": "app.py", "content": f"x = 2\nkey = '{MASK}'\n"}
            assert "stands for a secret that is not shown" in (await made(box, "write_file", back, "files")).text
            around = {"path": "app.py", "old": "x = 1", "new": "x = 2"}
            assert (await made(box, "replace_in_file", around, "files")).record.ok
        assert folder.look()["app.py"][0].decode() == text.replace("x = 1", "x = 2")


@pytest.mark.parametrize("tool", ["link", "hard"])
async def test_links_out_of_the_folder_are_removed(tool: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("kept")
    with TaskFolder(packed(a="x")) as folder:
        async with Toolbox(hostile_list(), folder) as box:
            called = await made(box, tool, {"name": "way-out", "target": str(secret)})
            assert not called.record.ok and "'way-out' is removed" in called.text
            assert not (folder.root / "way-out").is_symlink() and not (folder.root / "way-out").exists()
        assert set(folder.look()) == {"a"}
    assert secret.read_text() == "kept"


async def test_a_server_that_is_too_slow_or_ends_is_a_failed_call_and_the_next_one_starts_it_anew() -> None:
    """And what is long is cut; another folder in its place ends the work."""
    with TaskFolder() as folder:
        async with Toolbox(hostile_list(timeout_s=5, output_chars=1_000), folder) as box:
            called = await made(box, "slow", {"seconds": 60}, left_s=1.0)
            assert not called.record.ok and "no result within 1 s" in called.text
            await gone(int((folder.root / "begun").read_text()))
            assert not (folder.root / "late").exists()
            long = await made(box, "say", {"content": "0123456789", "times": 10_000})
            assert long.record.ok and len(long.text) < 1_100 and "[cut: 100,000 in all]" in long.text
            called = await made(box, "die", {})
            assert not called.record.ok and "the server failed" in called.text
            assert (await made(box, "say", {"content": "here"})).text == "here"
            with pytest.raises(FolderError, match="replaced"):
                await made(box, "replace_folder", {})


async def test_what_a_read_only_server_changes_is_undone() -> None:
    with TaskFolder(packed(a="x")) as folder:
        async with Toolbox(hostile_list(read_only=True), folder) as box:
            called = await made(box, "write", {"name": "a", "content": "changed"})
            assert not called.record.ok and "may only read" in called.text
            assert (folder.root / "a").read_text() == "x"
            assert (await made(box, "say", {"content": "fine"})).record.ok


@pytest.mark.parametrize("read_only", [True, False])
async def test_in_a_folder_that_is_too_large_a_call_fails_and_the_turn_goes_on(read_only: bool) -> None:
    """What may only read is not called: nobody could undo what it changes."""
    with TaskFolder() as folder:
        async with Toolbox(hostile_list(read_only=read_only), folder) as box:
            for i in range(32):
                (folder.root / f"f{i}").write_bytes(b"x" * 700_000)
            called = await made(box, "say", {"content": "here"})
            assert not called.record.ok and "20,000,000 bytes" in called.text
            assert ("refused" in called.text) is read_only
            for i in range(32):
                (folder.root / f"f{i}").unlink()
            assert (await made(box, "say", {"content": "here"})).record.ok


@pytest.mark.parametrize(
    ("allowed", "why"),
    [
        (hostile_list(command=["{python}", "-c", "import no_such_part"]),
         "it did not start: ModuleNotFoundError: No module named 'no_such_part'"),
        (hostile_list(command=["{python}", "-c", "import time; time.sleep(60)"], timeout_s=1), "within 1 s"),
        (hostile_list(tools={"say": {}, "no_such": {}}), "it has no tool 'no_such'; it offers"),
    ],
)  # fmt: skip
async def test_a_server_that_cannot_be_used_is_left_out_with_its_reason(allowed: AllowList, why: str) -> None:
    others = files_list().model_copy(update={"servers": {**files_list().servers, **allowed.servers}})
    with TaskFolder(packed(app_dot_py="print('hi')\n")) as folder:
        async with Toolbox(others.only({"read_file", "no_such", "say"}), folder) as box:
            (missing,) = box.missing
            assert (missing.server, missing.tool, missing.ok) == ("hostile", START, False)
            assert why in missing.result and why in call_words(missing), missing
            assert {o.tool for o in box.offered} - {"say"} == {"read_file"}
            assert (await made(box, "read_file", {"path": "app.py"}, "files")).record.ok


async def test_what_a_server_wrote_before_it_ended_is_told_without_the_operators_variables(
    caplog: pytest.LogCaptureFixture,
) -> None:
    code = "import os, sys; sys.stderr.write('1\\n' + os.environ['HOSTILE_TOKEN'] + 'x' * 490); raise SystemExit(1)"
    allowed = hostile_list(command=["{python}", "-c", code], env={"HOSTILE_TOKEN": "topsecret-topsecret-topsecret"})
    with TaskFolder() as folder:
        async with Toolbox(allowed, folder) as box:
            (missing,) = box.missing
            assert missing.result.startswith("it did not start: (from the allow list)xxx"), missing
            assert "secret" not in missing.result and len(missing.result) < 200
    (told,) = [r.getMessage() for r in caplog.records if "it wrote" in r.getMessage()]
    assert "xxxx" in told and "secret" not in told


async def test_a_turn_that_is_cancelled_ends_its_servers() -> None:
    with TaskFolder() as folder:

        async def turn() -> None:
            async with Toolbox(hostile_list(), folder) as box:
                await made(box, "slow", {"seconds": 60})

        task = asyncio.create_task(turn())
        begun = folder.root / "begun"

        async def there() -> str:
            return begun.read_text() if begun.exists() else ""

        pid = int(await until(there, 20))
        task.cancel()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gone(pid)
        assert not (folder.root / "late").exists()


async def test_search_reads_no_file_that_read_file_refuses(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("the secret word\n")
    with TaskFolder(packed(a="the secret of a")) as folder:
        async with Toolbox(files_list(), folder) as box:
            os.link(outside, folder.root / "hard")
            found = await made(box, "search", {"pattern": "secret"})
    told, *_ = found.text.split("\n")
    assert told == "a:1: the secret of a" and "word" not in found.text
