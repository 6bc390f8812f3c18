"""Environments with Parley and a package of somebody else's, and with packages from PyPI, kept between runs."""

import hashlib
import os
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BARE = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
BARE["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), BARE.get("PATH", "")])
"""The system's environment without paths of Python; the nats-server of these tests is found."""


def installed(folder: Path, *packages: Path) -> Path:
    """The interpreter of a new environment where pip has installed these packages from their folders. Parley and what
    it depends on come from where these tests run, so that nothing is fetched."""
    venv.create(folder / "env", with_pip=False)
    python = folder / "env" / "bin" / "python"
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    (site / "parley.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n{ROOT / 'research'}\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--quiet", "--disable-pip-version-check", "install"]
    named = [str(path) for path in packages]
    subprocess.run([*pip, "--no-deps", "--no-build-isolation", "--no-index", *named], check=True, env=BARE)
    return python


def programs_of(*requirements: str) -> Path:
    """The folder of the programs of an environment with these packages, `python` among them. Skips where it cannot be
    made."""
    named = hashlib.sha256(" ".join(requirements).encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir()) / f"parley-pip-{named}-{os.getuid()}"
    programs, made = folder / "bin", folder / "made"
    if not made.exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, timeout=60)
            command = [str(programs / "pip"), "install", "--quiet", "--disable-pip-version-check", *requirements]
            subprocess.run(command, check=True, capture_output=True, timeout=200)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"NOT CHECKED: {' '.join(requirements)}: pip install failed ({type(error).__name__})")
        made.touch()
    return programs
