"""Keep the bus's keys and the server's configuration in two secrets: made once, completed when a queue is added.

Runs in the chart's job with the image's Python and the pod's own service account. What the secrets hold already is
kept: `parley bus config` adds what is missing and never makes a key twice. No key is printed. With `--run WORDS`, it is
`parley bus WORDS` on these files: what the command writes goes into the secrets while it runs, since the server reads
them there.
"""

import base64
import contextlib
import json
import os
import ssl
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Set
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


def keep(name: str, files: dict[str, bytes], there: dict[str, Any] | None, gone: Set[str] = frozenset()) -> None:
    """Make a secret hold these files, not those that are gone, and leave what else it holds."""
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
    held: dict[str, Any] = there.get("data") or {}
    new: dict[str, str | None] = {file: content for file, content in data.items() if held.get(file) != content}
    new |= dict.fromkeys(gone & held.keys())
    if new:
        there["data"] = {file: content for file, content in (held | new).items() if content is not None}
        call("PATCH", f"/{name}", {"data": new}, "application/merge-patch+json")
        print(f"secret {name}: {len(new)} files are new, changed or gone", flush=True)


def main(keys: str, server: str, options: list[str]) -> None:
    """Bring both secrets up to the options."""
    held, conf = call("GET", f"/{keys}"), call("GET", f"/{server}")
    with tempfile.TemporaryDirectory() as folder:
        os.umask(0o077)
        for secret in (held, conf):
            for file, content in ((secret or {}).get("data") or {}).items():
                Path(folder, Path(file).name).write_bytes(base64.b64decode(content))
        before = set(os.listdir(folder))
        running = options[:1] == ["--run"]
        if running and (held is None or conf is None):
            raise SystemExit(f"there are no secrets {keys} and {server} yet")
        command = ["bus", *options[1:]] if running else ["bus", "config", f"--dir={folder}", *options]
        process = subprocess.Popen(
            ["parley", *command],
            env={**os.environ, "PARLEY_KEYS": folder},
            stdout=None if running else subprocess.DEVNULL,
        )
        over = False
        while not over:
            with contextlib.suppress(subprocess.TimeoutExpired):
                over = process.wait(1.0) is not None
            if not running and process.returncode != 0:
                continue
            made = {p.name: p.read_bytes() for p in Path(folder).glob("[!.]*") if p.is_file()}
            rendered = _json(made.pop(SERVER))
            if rendered is not None:  # it is not being written
                keep(server, {SERVER: json.dumps(rendered, separators=(",", ":")).encode()}, conf)  # half as large
                keep(keys, made, held, before - made.keys())
    sys.exit(process.returncode)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
