"""Small projects with failing tests turn green, with our tools and on a foreign server; half a fix is never applied."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from parley.agents.tools import sandbox
from tests.llm.aimock import aimock
from tests.parley.support import Front

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(240),
    pytest.mark.skipif(bool(sandbox.unavailable()), reason=f"NOT CHECKED: {sandbox.unavailable()}"),
]
PROJECTS = Path(__file__).parents[3] / "examples" / "projects"
ENDED: dict[str, Any] = {"calls": [], "support": None, "handoff": None, "blocked": ""}
DONE = {"outcome": "done", "summary": "It is fixed.", "output": "Both causes are fixed.", **ENDED}
APPROVED = {"verdict": "approved", "findings": []}
CENTS = """--- a/billing/cents.py
+++ b/billing/cents.py
@@ -3,11 +3,11 @@
-from decimal import ROUND_HALF_EVEN, Decimal
+from decimal import ROUND_HALF_UP, Decimal
@@ -8,3 +8,3 @@
-    return amount.quantize(CENT, rounding=ROUND_HALF_EVEN)
+    return amount.quantize(CENT, rounding=ROUND_HALF_UP)
"""
BILL = """--- a/billing/bill.py
+++ b/billing/bill.py
@@ -39,1 +39,4 @@
-        return sum((to_cents(item.net * item.rate) for item in self.items), Decimal(0))
+        nets: dict[Decimal, Decimal] = {}
+        for item in self.items:
+            nets[item.rate] = nets.get(item.rate, Decimal(0)) + item.net
+        return sum((to_cents(net * rate) for rate, net in nets.items()), Decimal(0))
"""
SLUGS = """--- a/slug.js
+++ b/slug.js
@@ -4,1 +4,3 @@
     .toLowerCase()
+    .normalize("NFD")
+    .replace(/[\\u0300-\\u036f]/g, "")
@@ -16,1 +18,1 @@
-    return count === 0 ? found : `${found}-${count}`;
+    return count === 0 ? found : `${found}-${count + 1}`;
"""
ROTATE = """--- a/rotate.sh
+++ b/rotate.sh
@@ -6,1 +6,2 @@
-[ -e "$file" ] || exit 0
+[ -s "$file" ] || exit 0
+rm -f "$file.$keep"
"""
FIXES = {
    "invoices": (CENTS + BILL, "python -m pytest -q", "2 failed, 4 passed", "6 passed"),
    "slugs": (SLUGS, "npm test", "2 failed, 1 passed", "3 passed"),
    "rotate": (ROTATE, "sh tests.sh", "2 failed, 2 passed", "4 passed"),
}


@pytest.fixture(params=FIXES)
def name(request: pytest.FixtureRequest) -> str:
    if request.param == "slugs" and (shutil.which("node") is None or shutil.which("npm") is None):
        pytest.skip("NOT CHECKED: no node and npm on this machine")
    return str(request.param)


def copy(name: str, to: Path) -> Path:
    return Path(shutil.copytree(PROJECTS / name, to / name, ignore=shutil.ignore_patterns("__pycache__", ".*")))


def patching(patch: str) -> dict[str, Any]:
    return use("apply_patch", patch=patch)


def run(
    tmp_path: Path,
    folder: Path,
    said: list[dict[str, Any]],
    *options: str,
    journal: list[Any] | None = None,
    **more: str,
) -> tuple[int, str, str]:
    """`journal`: is given the requests."""
    with aimock(tmp_path, said) as server:
        env: Mapping[str, str] = {
            "LLM_PROVIDER": "openai_compatible", "LLM_MODEL": "gpt-work", "LLM_BASE_URL": server.url,
            "LLM_API_KEY": "sk-secret", "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin", **more,
        }  # fmt: skip
        task = ("--protocol", "madp", "--expert", "implementation-engineer", "--plain")
        ran = Front(tmp_path).run(
            "ask", "The tests fail. Fix the code.", *task, "--folder", str(folder), *options, env=env
        )
        if journal is not None:
            journal += server.journal("gpt-work")
        return ran


def green(name: str, folder: Path) -> bool:
    command = {"invoices": [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], "slugs": ["npm", "test"],
               "rotate": ["sh", "tests.sh"]}[name]  # fmt: skip
    return subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False).returncode == 0


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_each_is_red_as_it_ships_and_turns_green(tmp_path: Path, name: str) -> None:
    """The lead looks, reads, patches and says that it is done. The reviewers, who are shown what they would look at,
    take at most three tenths of its tokens."""
    folder = copy(name, tmp_path / "projects")
    assert not green(name, folder)
    fix, check, before, after = FIXES[name]
    texts = {n: data.decode() for n, data in files(folder).items() if n == "README.md" or "test" in n}
    said = [
        step("Review what another expert did", APPROVED),
        step("Step 3, call 1", DONE),
        step("Step 2, call 1", patching(fix)),
        step("Step 1, call 1", use("read_file", *[{"path": p} for p in sorted(files(folder))])),
        step("You lead the task", use("list_files")),
    ]
    journal: list[Any] = []
    code, out, err = run(tmp_path, folder, said, "--apply", journal=journal)
    assert code == 0, err + out
    assert f"the check is `{check}`" in err
    assert f"check before the work: {check} [{before}" in out and f"check after the work: {check} [{after}" in out
    assert "approved by Implementation Auditor; check passed" in out and green(name, folder)
    prompts = [json.dumps([r["body"].get("tools", []), r["body"]["messages"]]) for r in journal]
    reviews = [p for p in prompts if "Review what another expert did" in p]
    assert len(prompts) == 5 and all(json.dumps(text)[1:-1] in reviews[0] for text in texts.values())
    work = sum(len(p) for p in prompts if p not in reviews)
    assert sum(map(len, reviews)) <= 0.3 * work, (sum(map(len, reviews)), work)


def test_half_a_fix_never_ends_approved_whatever_lead_and_reviewer_say(tmp_path: Path) -> None:
    folder = copy("invoices", tmp_path / "projects")
    there = files(folder)
    said = [
        step("Review what another expert did", APPROVED),
        step("Step 1, call 1", DONE),
        step("You lead the task", patching(CENTS)),
    ]
    code, out, err = run(tmp_path, folder, said, "--apply", "--set", "madp.max_reviews=1", "--set", "madp.item_s=1")
    assert code != 0 and "not settled: " in out and "the check does not show that it is right" in out, out + err
    assert "test_vat_is_rounded_once_for_each_rate" in out
    assert "the result is not applied: the session ended with unproven" in err
    assert {k: v for k, v in files(folder).items() if "cache" not in k} == there


def step(after: str, body: dict[str, Any]) -> dict[str, Any]:
    """What is said once this text stands in the prompt."""
    match = {"model": "gpt-work", "userMessage": after}
    return {"match": match, "response": {"content": json.dumps(body)}}


def use(tool: str, *each: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    """A step of calls of one tool, with the arguments of each, or of its only one."""
    calls = [{"server": "files", "tool": tool, "arguments": json.dumps(one)} for one in each or (arguments,)]
    empty = {"output": "", "support": None, "handoff": None, "blocked": ""}
    return {"outcome": "use_tools", "calls": calls, "summary": f"now {tool}", **empty}
