"""`make examples`: each program here asks in a stack of its own. `python -m examples.run NAME...` runs some of them.

What a program needs is installed into an environment of its own. Parley's packages come from the environment that runs
this. Exit status: 1 where one of them failed, 2 where what it needs cannot be installed.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDS = {
    "agents.plain_function": (),
    "agents.langgraph_agent": ("langgraph>=1,<2",),
    "agents.pydantic_ai_agent": ("pydantic-ai-slim>=1",),
    "fastapi.check": ("fastapi", "uvicorn"),
    "notebook.check": ("nbclient", "ipykernel"),
}
NOT_INSTALLED = 2


def run(name: str) -> int:
    """One example; its exit status."""
    needs = NEEDS[name]
    with tempfile.TemporaryDirectory() as folder:
        python = Path(sys.executable)
        if needs:
            venv.create(folder, with_pip=False)
            python = Path(folder) / "bin" / "python"
            (site,) = (Path(folder) / "lib").glob("python*/site-packages")
            # After the environment's own packages, so that the framework's versions win.
            (site / "zz_parley.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n")
            pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *needs]
            if subprocess.run(pip).returncode:
                return NOT_INSTALLED
        print(f"-- {name}", flush=True)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # nats-server is there
        environ = {**os.environ, "PATH": path}
        return subprocess.run([str(python), "-m", f"examples.{name}"], cwd=ROOT, env=environ).returncode


def main() -> int:
    """Those that are named, or all of them."""
    ended = {name: run(name) for name in sys.argv[1:] or NEEDS}
    for name, code in ended.items():
        if code:
            print(f"{name} {'cannot be installed' if code == NOT_INSTALLED else 'failed'}", file=sys.stderr)
    return max(ended.values())


if __name__ == "__main__":
    sys.exit(main())
