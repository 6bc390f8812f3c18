"""The environment of what stays out of ours: Helm's own library, Kubernetes' schemas, the maker of bills of materials.

python -m tests.deploy.environment --install
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

PACKAGES = ("helm-python-sdk==0.2.2", "kubernetes-validate==1.37.0", "pyyaml", "cyclonedx-bom==7.5.0")


def home() -> Path:
    """HELM_VENV, or a folder of the user's cache."""
    return Path(os.environ.get("HELM_VENV") or Path.home() / ".cache" / "parley-helm-venv")


def python() -> Path | None:
    """Its interpreter; None where it is not installed."""
    packages = ("helm_python", "kubernetes_validate", "yaml", "cyclonedx_py")
    there = all(list(home().glob(f"lib/*/site-packages/{name}")) for name in packages)
    return home() / "bin" / "python" if there else None


def install() -> None:
    """Make the environment, unless it is there. Raises subprocess.CalledProcessError."""
    if python() is None:
        if not (home() / "bin" / "python").exists():
            venv.create(home(), with_pip=True)
        pip = [str(home() / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PACKAGES], check=True)


if __name__ == "__main__":
    if sys.argv[1:] != ["--install"]:
        sys.exit(__doc__)
    install()
