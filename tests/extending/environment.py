"""Environments with Parley and a package of somebody else's."""

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
BARE = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
BARE["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), BARE.get("PATH", "")])
"""The system's environment without paths of Python; the nats-server of these tests is found."""


def fresh(folder: Path) -> Path:
    """The interpreter of a new environment: Parley and what it depends on come from where these tests run, so that
    nothing is fetched."""
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (site / "parley.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n{ROOT / 'research'}\n")
    return python


def installed(folder: Path, *packages: Path) -> Path:
    """The interpreter of a new environment where pip has installed these packages from their folders."""
    python = fresh(folder)
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check", "install"]
    named = [str(path) for path in packages]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--no-index", *named], check=True, env=BARE)
    return python
