"""What of a folder is not sent: the same as git ignores, and what tools leave behind."""

import os
import subprocess
from pathlib import Path

import pytest

from parley.bus import accounts
from parley.client import task_folder
from parley.client.errors import BadInput
from parley.schemas.folders.archive import unpack_archive
from parley.stack import keys

GIT = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


def made(root: Path, /, *files: str, **rules: str) -> Path:
    """A folder of these files; `rules`: lines of a folder's .gitignore, `root` for the top."""
    for name in files:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    for folder, lines in rules.items():
        (root / ("" if folder == "root" else folder) / ".gitignore").write_text(lines)
    return root


def sent(root: Path) -> set[str]:
    return set(unpack_archive(task_folder.read_folder(root).data))


def words(root: Path) -> str:
    return "\n".join(task_folder.read_folder(root).words())


FILES = (
    "a.py", "a.o", "keep.o", "sub/a.o", "sub/keep.o", "sub/deep/x.txt", "sub/deep/y.md", "logs/1.log", "logs/keep.md",
    "logs/deep/2.log", "cache/a/b/c", "cache/keep/d", "only/a.txt", "only/b.py", "only/in/c.py", "a b", "#x", "!y",
    "tmp", "z/tmp/q", "star/one/two/f.c", "star/f.c", "UP.O", "x.py~",
)  # fmt: skip


@pytest.mark.parametrize(
    "rules",
    [
        {"root": "*.o\n!keep.o\nlogs/\n"},
        {"root": "/*\n!/sub\n*.o\n"},
        {"root": "cache/**\n!cache/keep/\n!cache/keep/d\nstar/**/f.c\n"},
        {"root": "only/*\n!only/*.py\n!only/in/\n", "sub": "*\n!deep\n"},
        {"root": "logs/*\n!logs/deep/\n*.md\n", "logs": "!keep.md\n", "sub": "!*.o\ndeep/y.md\n"},
        {"root": "# a comment\n\n\\#x\n\\!y\na\\ b\ntmp/\n*~\n"},
        {"root": "sub/\n!sub/keep.o\n", "sub": "!keep.o\n"},
        {"root": "**/deep\n/a.py\n[ab].o\n"},
        {"root": "logs\r\n*.o  \n"},
        {"root": "!logs/1.log\n*.log\n"},
    ],
)
def test_what_is_sent_is_what_git_would_track(tmp_path: Path, rules: dict[str, str]) -> None:
    root = made(tmp_path, *FILES, **rules)
    subprocess.run(["git", "init", "-q", str(root)], env=GIT, check=True, timeout=30)
    (root / ".git" / "info" / "exclude").write_text("star/one\n")
    asked = ["git", "-C", str(root), "ls-files", "-z", "--others", "--exclude-standard"]
    told = subprocess.run(asked, env=GIT, check=True, timeout=30, capture_output=True, text=True).stdout
    assert sent(root) == set(told.split("\0")) - {""}
    assert words(root) == ""


def test_rules_above_a_folder_hold_up_to_its_work_tree_and_a_link_is_no_file_of_rules(tmp_path: Path) -> None:
    made(tmp_path, "tree/sub/a.o", "tree/sub/a.py", "tree/sub/a.c", root="*.c\n", tree="*.o\n")
    (tmp_path / "tree" / ".git").mkdir()
    assert sent(tmp_path / "tree" / "sub") == {"a.py", "a.c"}
    (tmp_path / "tree" / "sub" / ".gitignore").symlink_to(tmp_path / ".gitignore")
    assert sent(tmp_path / "tree" / "sub") == {"a.py", "a.c"}


def test_without_rules_what_tools_and_builds_leave_is_not_sent(tmp_path: Path) -> None:
    left = ("node_modules/m/i.js", ".venv/bin/python", "p/__pycache__/a.pyc", ".mypy_cache/x", ".git/HEAD")
    root = made(tmp_path, "src/a.py", "build/lib/a.py", "web/dist/a.js", "target/x.jar", *left)
    assert sent(root) == {"src/a.py"}
    told = words(root)
    assert "'build': a build makes it, by its name; the line `!build/` in .gitignore has it sent" in told
    assert "'web/dist'" in told and "'target'" in told
    assert not any(name in told for name in ("node_modules", ".venv", "__pycache__", ".git/", "'.git'"))
    made(root, root="!build/\n")
    assert sent(root) == {"src/a.py", "build/lib/a.py", ".gitignore"}


SECRETS = (
    ".env", "api/.env.production", ".ENV.local", "tls/server.pem", "tls/server.key", "id_rsa", "keys/id_ed25519.pub",
    ".netrc", ".pypirc", ".npmrc", "conf/credentials.json", ".ssh/config", "owner.creds", "service-account-prod.json",
)  # fmt: skip
PLAIN = (
    ".env.example", "api/.env.sample", "env.py", "credentials/store.py", "keyboard.keys", "src/identity.py", "pem.md",
)  # fmt: skip


def test_what_may_hold_a_secret_by_its_name_is_held_back_and_named(tmp_path: Path) -> None:
    root = made(tmp_path, *SECRETS, *PLAIN)
    assert sent(root) == set(PLAIN)
    (told,) = words(root).splitlines()
    assert told.startswith(f"held back of {root}: ") and "by its name it may hold a secret" in told
    assert all(repr(name) in told for name in SECRETS if name != ".ssh/config") and "'.ssh'" in told


def test_a_rule_that_names_it_has_it_sent_and_one_that_only_covers_it_has_not(tmp_path: Path) -> None:
    root = made(tmp_path, ".env", "a.pem", "b.key", root="!.env\n!*.pem\n!*\n!b.*\n")
    assert sent(root) == {".gitignore"}, "the last rule that matches counts"
    (root / ".gitignore").write_text("!*\n!b.*\n!.env\n!*.pem\n")
    assert sent(root) == {".env", "a.pem", ".gitignore"} and "'b.key'" in words(root)


def test_every_reason_is_named_and_all_names_where_that_is_asked_for(tmp_path: Path) -> None:
    root = made(tmp_path, "a.py")
    for i in range(8):
        (root / f"link{i}").symlink_to("/etc/passwd")
    (root / "new\nline").write_text("x")
    (root / os.fsdecode(b"latin\xe9.txt")).write_text("x")
    brief, whole = ("\n".join(task_folder.read_folder(root).words(everything=all_)) for all_ in (False, True))
    assert "'latin\\udce9.txt': its name is not UTF-8" in brief and "'new\\nline': it has a control character" in brief
    assert "and 3 more (--verbose names them)" in brief and "'link7'" not in brief
    assert "'link7'" in whole and "more" not in whole


def test_keys_of_parley_are_never_sent_whatever_their_name_and_rules(tmp_path: Path) -> None:
    credentials = keys.ensure(tmp_path / "home" / "bus-keys", accounts.table({"critic": "critic"}))
    root = made(tmp_path / "home", "a.py", ".local/state/p/keys/x.json", ".local/state/p/users.lock", "q/users.lock")
    seed = credentials["owner"].seed
    (root / "leaf.conf").write_text(f'nkey: "{seed}"\n')
    (root / "like.txt").write_text(f"{seed[:-4]}AAAA and {seed}x: no checksum, no seed\n")
    (root / ".gitignore").write_text("!*.json\n!leaf.conf\n!owner.json\n!.local/state/p/\n")
    assert sent(root) == {"a.py", "like.txt", "q/users.lock", ".gitignore"}
    told = words(root)
    assert "'.local/state/p': it is Parley's own state folder" in told
    assert "'bus-keys/owner.json'" in told and "'leaf.conf'" in told and "it holds keys of a message bus" in told
    with pytest.raises(BadInput, match="Parley's own state folder"):
        task_folder.read_folder(root / ".local/state/p/keys")
