"""The OpenAI-compatible door with clients of other makers: the official one of Node, and `llm`."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import npm
from tests.support.gateway import Served, serving

OPENAI = ("openai", "7.57.0")
LLM = "llm==0.36"
QUESTION = "In which year did the Suez Canal open?"
KNOWS = "The Suez Canal opened in 1869 for ships."
SCRIPT = """
import OpenAI from "openai";
const client = new OpenAI({baseURL: process.env.URL, apiKey: process.env.TOKEN, maxRetries: 0});
const told = {models: (await client.models.list()).data.map(m => m.id)};
const messages = [{role: "system", content: process.env.KNOWS}, {role: "user", content: process.env.QUESTION}];
const plain = await client.chat.completions.create({model: "parley/consensus", messages});
told.content = plain.choices[0].message.content;
told.parley = plain.parley;
told.reasoning = 0;
for await (const part of await client.chat.completions.create({model: "parley/consensus", messages, stream: true}))
  if (part.choices[0]?.delta.reasoning_content) told.reasoning += 1;
const response = await client.responses.create({model: "parley/consensus", instructions: process.env.KNOWS,
                                                input: process.env.QUESTION});
told.output = response.output_text;
const stream = client.responses.stream({model: "parley/consensus", input: "Which year?",
                                        previous_response_id: response.id});
told.kinds = [];
for await (const event of stream) told.kinds.push(event.type);
told.continues = (await stream.finalResponse()).parley.continues;
try { await client.chat.completions.create({model: "parley/nobody", messages}); }
catch (error) { told.error = [error.constructor.name, error.status, error.code, error.param]; }
console.log(JSON.stringify(told));
"""
pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gateway."""
    with serving(tmp_path_factory.mktemp("foreign"), "--set", "protocol=consensus") as found:
        yield found


def test_the_official_client_of_node_gets_answers_streams_and_errors(served: Served) -> None:
    folder = npm.package(*OPENAI)
    script = folder / f"test-{os.getpid()}.mjs"
    script.write_text(SCRIPT)
    env = {"URL": f"{served.url}/v1", "TOKEN": served.token, "KNOWS": KNOWS, "QUESTION": QUESTION}
    try:
        code, out, err = npm.run(npm.node(), str(script), env=env)
    finally:
        script.unlink()
    assert code == 0, err
    told = json.loads(out)
    assert "parley/consensus" in told["models"] and told["content"].startswith("1869\n")
    assert told["parley"]["agreed"] and told["reasoning"] >= 5
    assert told["output"].startswith("1869\n") and told["kinds"][-1] == "response.completed"
    assert told["continues"] and told["continues"] in told["output"].splitlines()[-1]
    assert told["error"] == ["NotFoundError", 404, "model_not_found", "model"]


def _llm() -> Path:
    """The program, in an environment of its own that is kept between runs; skips where it cannot be installed."""
    folder = Path(tempfile.gettempdir()) / f"parley-llm-{LLM.rpartition('=')[2]}-{os.getuid()}"
    program = folder / "bin" / "llm"
    if not program.exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, timeout=60)
            command = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", LLM]
            subprocess.run(command, check=True, capture_output=True, timeout=150)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"NOT CHECKED: {LLM} cannot be installed ({type(error).__name__})")
    return program


def test_llm_asks_a_panel_as_any_model(served: Served, tmp_path: Path) -> None:
    program = _llm()
    entry = f"- model_id: panel\n  model_name: parley/consensus\n  api_base: {served.url}/v1\n  api_key_name: parley\n"
    (tmp_path / "extra-openai-models.yaml").write_text(entry)
    env = {**os.environ, "LLM_USER_PATH": str(tmp_path)}
    done = subprocess.run(
        [program, "-m", "panel", "--key", served.token, "-s", KNOWS, QUESTION],
        capture_output=True, text=True, timeout=50, env=env,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1869\n") and "parley session " in done.stdout
