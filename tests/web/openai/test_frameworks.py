"""Frameworks and coding agents as clients: each is installed by itself, and asks a panel as it asks any model.

A row is what is installed, the program as its user writes it, and what comes out.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.extending.environment import programs_of
from tests.support import npm
from tests.support.expert_model import served_model, variables
from tests.support.gateway import Served, serving
from tests.web.openai.test_typed import answer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(420)]
QUESTION = "Opened the Suez Canal in 1869?"
TYPED = "year=1869 sure=True"
AGENTS, PYDANTIC_AI, LANGCHAIN = "openai-agents==0.24.0", "pydantic-ai-slim[openai]==2.68.0", "langchain-openai==1.7.4"
OPENCODE = ("opencode-ai", "1.18.33")
BEGINS = f"""
import asyncio, os
from pydantic import BaseModel

URL, KEY, QUESTION = os.environ["OPENAI_BASE_URL"], os.environ["OPENAI_API_KEY"], {QUESTION!r}

class Opened(BaseModel):
    year: int
    sure: bool
"""
HANDOFF = """
from agents import Agent, Model, ModelResponse, OpenAIChatCompletionsModel, Runner, Usage, set_tracing_disabled
from openai import AsyncOpenAI
from openai.types.responses import ResponseFunctionToolCall

set_tracing_disabled(True)

class Front(Model):
    async def get_response(self, *args, **more):
        call = ResponseFunctionToolCall(
            id="f", call_id="c", type="function_call", name="transfer_to_panel", arguments="{}"
        )
        return ModelResponse(output=[call], usage=Usage(), response_id=None)

    async def stream_response(self, *args, **more):
        yield

panel = Agent(name="panel", model=OpenAIChatCompletionsModel("parley/single", AsyncOpenAI()))
front = Agent(name="front", model=Front(), handoffs=[panel])
print(asyncio.run(Runner.run(front, QUESTION)).final_output)
"""
TYPED_AGENT = """
from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
panel = Agent(name="panel", model=OpenAIChatCompletionsModel("parley/single", AsyncOpenAI()), output_type=Opened)
print(asyncio.run(Runner.run(panel, QUESTION)).final_output)
"""
TOOL_OUTPUT = """
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

panel = OpenAIChatModel("parley/single", provider=OpenAIProvider(base_url=URL, api_key=KEY))
print(Agent(panel, output_type=Opened).run_sync(QUESTION).output)
"""
STRUCTURED = """
from langchain_openai import ChatOpenAI

print(ChatOpenAI(model="parley/single").with_structured_output(Opened, method="json_schema").invoke(QUESTION))
"""
ROWS = [
    ("agents-handoff", AGENTS, HANDOFF, "In 1869."),
    ("agents-typed", AGENTS, TYPED_AGENT, TYPED),
    ("pydantic-ai-tool", PYDANTIC_AI, TOOL_OUTPUT, TYPED),
    ("pydantic-ai-native", PYDANTIC_AI, TOOL_OUTPUT.replace("=Opened", "=NativeOutput(Opened)"), TYPED),
    ("langchain-json-schema", LANGCHAIN, STRUCTURED, TYPED),
    ("langchain-function-calling", LANGCHAIN, STRUCTURED.replace("json_schema", "function_calling"), TYPED),
]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served_model(answer) as url:
        with serving(tmp_path_factory.mktemp("frameworks"), env=variables("ANSWERER", url)) as found:
            yield found


@pytest.mark.parametrize(("name", "requirement", "program", "said"), ROWS, ids=[row[0] for row in ROWS])
def test_a_framework_hands_over_to_a_panel_and_gets_its_verdict_as_it_wants_it(
    served: Served, name: str, requirement: str, program: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "ask.py").write_text(BEGINS + program)
    env = {
        "OPENAI_BASE_URL": f"{served.url}/v1",
        "OPENAI_API_KEY": served.token,
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
    }
    python = programs_of(requirement) / "python"
    done = subprocess.run([python, "ask.py"], cwd=tmp_path, capture_output=True, text=True, timeout=100, env=env)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert said in done.stdout


def test_opencode_asks_a_panel_and_its_title_costs_no_session(served: Served, tmp_path: Path) -> None:
    opencode = npm.package(*OPENCODE) / "node_modules" / ".bin" / "opencode"
    options = {"baseURL": f"{served.url}/v1", "apiKey": served.token}
    provider = {
        "npm": "@ai-sdk/openai-compatible", "name": "Parley", "options": options,
        "models": {"parley/single": {"name": "A panel"}},
    }  # fmt: skip
    (tmp_path / "opencode.json").write_text(json.dumps({"autoupdate": False, "provider": {"panels": provider}}))
    before = served.front.json("sessions", "list", "--json")["sessions"]
    homes = {f"XDG_{name}_HOME": str(tmp_path / name) for name in ("DATA", "CONFIG", "CACHE", "STATE")}
    done = subprocess.run(
        [opencode, "run", "--pure", "-m", "panels/parley/single", QUESTION],
        cwd=tmp_path, capture_output=True, text=True, timeout=200, stdin=subprocess.DEVNULL,
        env={"PATH": f"{npm.node().parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path), **homes},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2_000:]
    assert "Answer: " in done.stdout and "parley session " in done.stdout
    after = served.front.json("sessions", "list", "--json")["sessions"]
    assert len(after) == len(before) + 1, "a title is no debate"
