"""What is built is whole and has one name, in a folder full of modules that are called as our folders are."""

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.extending.environment import BARE, ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
OURS = ("agents", "bus", "client", "coordinator", "gateway", "observability", "schemas")


def build(folder: Path, kind: str, source: Path = ROOT) -> Path:
    """A distribution of a tree: `sdist` or `wheel`."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True, timeout=100)
    (made,) = folder.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    return build(tmp_path_factory.mktemp("wheel"), "wheel")


def files(wheel: Path) -> dict[str, int]:
    """Name -> checksum of what a wheel holds, without its list of them."""
    with zipfile.ZipFile(wheel) as archive:
        return {i.filename: i.CRC for i in archive.infolist() if not i.filename.endswith("RECORD")}


def test_a_wheel_holds_the_same_files_from_the_tree_and_from_the_source_distribution(
    wheel: Path, tmp_path: Path
) -> None:
    packed, unpacked = build(tmp_path / "sdist", "sdist"), tmp_path / "unpacked"
    with tarfile.open(packed) as archive:
        assert not [m.name for m in archive if m.issym() or m.islnk()]
    unpacked.mkdir()
    subprocess.run(["tar", "-xf", packed, "-C", unpacked], check=True)
    (source,) = unpacked.iterdir()
    assert files(wheel) == files(build(tmp_path / "again", "wheel", source))


def test_a_wheel_holds_every_tracked_file_of_the_product_and_one_name(wheel: Path) -> None:
    inside = {name for name in files(wheel) if ".dist-info/" not in name}
    assert {name.split("/")[0] for name in inside} == {"parley"}
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    linked = {p.name for p in (ROOT / "parley").iterdir() if p.is_symlink()}
    wanted = {f"parley/{name}" for name in tracked if name.split("/")[0] in linked}
    wanted |= {name for name in tracked if name.startswith("parley/") and not (ROOT / name).is_symlink()}
    assert inside == wanted


def test_what_git_ignores_is_in_no_distribution(tmp_path: Path) -> None:
    """A secret that lies in a folder of the checkout stays there."""
    tree = tmp_path / "tree"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(tree)], check=True, timeout=60)
    for folder in ("agents", "schemas", "parley"):
        (tree / folder / ".env").write_text("LLM_API_KEY=secret\n")
    for kind in ("sdist", "wheel"):
        made = build(tmp_path / kind, kind, tree)
        with zipfile.ZipFile(made) if kind == "wheel" else tarfile.open(made) as archive:
            names = archive.namelist() if isinstance(archive, zipfile.ZipFile) else archive.getnames()
        assert not [name for name in names if name.endswith(".env")], kind
        assert [name for name in names if name.endswith("agents/worker.py")], kind


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check", "install"]
    subprocess.run([*pip, "--no-deps", "--force-reinstall", str(wheel)], env=BARE, check=True, timeout=200)
    return python


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """A user's folder whose modules have the names of our folders, and end whoever imports them."""
    for name in OURS:
        body = f"raise SystemExit('{name} of the user was imported')\n"
        (tmp_path / f"{name}.py").write_text(body)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "rollout.md").write_text("The canary rollout survived the outage of May. Use the canary.\n")
    return tmp_path


def test_a_question_with_evidence_is_answered_from_a_crowded_folder(python: Path, crowded: Path) -> None:
    question = "Which rollout survived the outage of May?"
    (crowded / "script.py").write_text(
        "import parley\n"
        "if __name__ == '__main__':\n"
        f"    print(parley.ask({question!r}, protocol='consensus', evidence='notes'))\n"
        "    print(parley.__file__)\n"
    )
    asked = ("-m", "parley", "ask", question, "--protocol", "consensus", "--evidence", "notes")
    for words in (("script.py",), asked):
        done = subprocess.run(
            [str(python), *words], cwd=crowded, capture_output=True, text=True, timeout=90,
            env={**BARE, "HOME": str(crowded), "PARLEY_STATE": str(crowded / "state")},
        )  # fmt: skip
        assert done.returncode == 0 and "canary" in done.stdout.lower(), done.stdout + done.stderr
        assert str(ROOT / "parley") not in done.stdout


@pytest.mark.parametrize("name", [n for n in OURS if (ROOT / n / "__init__.py").exists()])
def test_a_folder_is_not_imported_by_its_own_name(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}"], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=30
    )
    assert f"ImportError: import it as parley.{name}" in done.stderr
