"""Packages from PyPI in an environment of their own, kept between runs; a test says so where they cannot be had."""

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest


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
