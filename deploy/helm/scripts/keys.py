"""Keep the bus's keys and the server's configuration in two secrets: made once, completed when a queue is added.

Runs in the chart's job with the image's Python and the pod's own service account. What the secrets hold already is
kept: `parley bus config` adds what is missing and never makes a key twice. No key is printed.
"""

import base64
import json
import os
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
SERVER = "nats-server.conf"
MOST = 1_048_576
"""Bytes of a secret that Kubernetes takes."""


def call(method: str, path: str, body: object = None, kind: str = "application/json") -> Any:
    """Ask the API server; None where there is no such thing."""
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    base = os.environ.get("KUBERNETES_API", f"https://{f'[{host}]' if ':' in host else host}:{port}")
    account = Path(os.environ.get("ACCOUNT", ACCOUNT))
    request = urllib.request.Request(
        f"{base}/api/v1/namespaces/{(account / 'namespace').read_text()}/secrets{path}",
        data=None if body is None else json.dumps(body).encode(),
        method=method,
        headers={"Authorization": f"Bearer {(account / 'token').read_text()}", "Content-Type": kind},
    )
    context = ssl.create_default_context(cafile=str(account / "ca.crt")) if base.startswith("https") else None
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 404 and method == "GET":
            return None
        raise SystemExit(f"{method} of the secret{path}: the API server says {error.code} {error.reason}") from None


def keep(name: str, files: dict[str, bytes], there: dict[str, Any] | None) -> None:
    """Make a secret hold these files, and leave what else it holds."""
    size = sum(map(len, files.values()))
    if size > MOST:
        raise SystemExit(
            f"secret {name}: {size:,} bytes, and Kubernetes takes {MOST:,}. The server's configuration grows with the "
            "square of the users: have fewer queues, or a second bus (docs/operations/deploy.md)"
        )
    data = {file: base64.b64encode(content).decode() for file, content in files.items()}
    if there is None:
        meta = {"name": name, "labels": {"app.kubernetes.io/managed-by": "parley-keys"}}
        call("POST", "", {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data})
        print(f"secret {name}: made, {len(data)} files")
        return
    new = {file: content for file, content in data.items() if there.get("data", {}).get(file) != content}
    if new:
        call("PATCH", f"/{name}", {"data": new}, "application/merge-patch+json")
    print(f"secret {name}: {len(new)} of {len(data)} files are new or changed")


def main(keys: str, server: str, options: list[str]) -> None:
    """Bring both secrets up to the options."""
    held, conf = call("GET", f"/{keys}"), call("GET", f"/{server}")
    with tempfile.TemporaryDirectory() as folder:
        os.umask(0o077)
        for secret in (held, conf):
            for file, content in ((secret or {}).get("data") or {}).items():
                Path(folder, Path(file).name).write_bytes(base64.b64decode(content))
        subprocess.run(["parley", "bus", "config", f"--dir={folder}", *options], check=True, stdout=subprocess.DEVNULL)
        made = {p.name: p.read_bytes() for p in Path(folder).iterdir() if p.is_file()}
    rendered = json.loads(made.pop(SERVER))
    keep(server, {SERVER: json.dumps(rendered, separators=(",", ":")).encode()}, conf)  # half as large without blanks
    keep(keys, made, held)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
