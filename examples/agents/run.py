"""`make examples`: each agent here argues in a stack of its own.

A framework is installed into an environment of its own. Parley's packages come from the environment that runs this.
Exit status: 1 where one of them failed.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDS = {
    "plain_function.py": (),
    "langgraph_agent.py": ("langgraph>=1,<2",),
    "pydantic_ai_agent.py": ("pydantic-ai-slim>=1",),
}


def run(name: str, needs: tuple[str, ...]) -> int:
    """One example; its exit status."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(sys.executable)
        if needs:
            venv.create(folder, with_pip=False)
            python = Path(folder) / "bin" / "python"
            (site,) = (Path(folder) / "lib").glob("python*/site-packages")
            # After the environment's own packages, so that the framework's versions win.
            (site / "zz_parley.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n")
            pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *needs]
            if code := subprocess.run(pip).returncode:
                return code
        print(f"-- {name}", flush=True)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # nats-server is there
        environ = {**os.environ, "PATH": path}
        return subprocess.run([str(python), str(Path(__file__).parent / name)], cwd=ROOT, env=environ).returncode


def main() -> int:
    """All of them."""
    failed = [name for name, needs in NEEDS.items() if run(name, needs)]
    for name in failed:
        print(f"{name} failed", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
