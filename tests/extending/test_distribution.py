"""What is built is whole and has one name, beside a package called `agents` and in a folder full of our names."""

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
THEIRS = "openai-agents==0.24.0"
"""A package that brings a top-level `agents`."""
OURS = ("agents", "bus", "client", "coordinator", "gateway", "observability", "schemas")
OF_THEIR_OWN = """
import asyncio

from agents import Agent, Model, ModelResponse, Runner, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

import parley


class Says(Model):
    "A model of their framework that always says the same."

    async def get_response(self, *args, **kwargs):
        text = ResponseOutputText(text="Canary", type="output_text", annotations=[])
        said = ResponseOutputMessage(id="1", role="assistant", type="message", status="completed", content=[text])
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args, **kwargs):
        raise NotImplementedError


@parley.agent(role="panelist")
async def seat(turn: parley.Turn) -> parley.Reply:
    done = await Runner.run(Agent(name="theirs", model=Says()), turn.question)
    return parley.Reply(answer=done.final_output, reasoning="Their framework says so.", confidence=0.9)


if __name__ == "__main__":
    async def main() -> None:
        async with parley.local(protocol="consensus", panel=2, agents=[seat, seat]) as p:
            print(await p.ask("Canary or blue-green?"))

    asyncio.run(main())
"""


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
    with tarfile.open(build(tmp_path / "sdist", "sdist")) as archive:
        assert not [m.name for m in archive if m.issym() or m.islnk()]
        archive.extractall(tmp_path / "unpacked", filter="data")
    (source,) = (tmp_path / "unpacked").iterdir()
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


@pytest.fixture(scope="module", params=["parley first", "agents first"])
def beside(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel and openai-agents, installed in one order or the other."""
    folder = tmp_path_factory.mktemp("beside")
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check", "install"]
    steps = [[*pip, "--no-deps", "--force-reinstall", str(wheel)], [*pip, THEIRS]]
    for step in steps if request.param == "parley first" else steps[::-1]:
        done = subprocess.run(step, env=BARE, capture_output=True, text=True, timeout=200)
        if done.returncode and THEIRS in step:
            pytest.skip(f"NOT CHECKED: {THEIRS} could not be installed: {done.stderr[-300:]}")
        assert not done.returncode, done.stderr
    return python


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """A user's folder whose modules have the names of our folders, and end whoever imports them."""
    for name in OURS:
        body = f"raise SystemExit('{name} of the user was imported')\n"
        if name == "agents":
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text(body)
        else:
            (tmp_path / f"{name}.py").write_text(body)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "rollout.md").write_text("The canary rollout survived the outage of May. Use the canary.\n")
    return tmp_path


def run(python: Path, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A command of the environment, in a folder."""
    return subprocess.run(
        [str(python), *words], cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=90
    )


def environment(folder: Path) -> dict[str, str]:
    """A home and a state of its own."""
    return {**BARE, "HOME": str(folder), "PARLEY_STATE": str(folder / "state")}


def test_a_question_with_evidence_is_answered_from_a_crowded_folder(beside: Path, crowded: Path) -> None:
    question = "Which rollout survived the outage of May?"
    (crowded / "script.py").write_text(
        "import parley\n"
        "if __name__ == '__main__':\n"
        f"    print(parley.ask({question!r}, protocol='consensus', evidence='notes'))\n"
        "    print(parley.__file__)\n"
    )
    asked = ("-m", "parley", "ask", question, "--protocol", "consensus", "--evidence", "notes")
    for words in (("script.py",), asked):
        done = run(beside, crowded, *words)
        assert done.returncode == 0 and "canary" in done.stdout.lower(), done.stdout + done.stderr
        assert str(ROOT / "parley") not in done.stdout


def test_a_seat_is_held_by_an_agent_of_the_other_package(beside: Path, tmp_path: Path) -> None:
    for name in OURS:
        if name != "agents":
            (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name} of the user was imported')\n")
    (tmp_path / "script.py").write_text(OF_THEIR_OWN)
    done = run(beside, tmp_path, "script.py")
    assert done.returncode == 0 and "Canary" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize("name", [n for n in OURS if (ROOT / n / "__init__.py").exists()])
def test_a_folder_is_not_imported_by_its_own_name(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {name}"], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=30
    )
    assert f"ImportError: import it as parley.{name}" in done.stderr
