"""An A2A agent in a seat.

panelist_2: {model: "parley.agents.remote.a2a:make", options: {url: "https://agent.example", key_variable: ITS_KEY}}
"""

import contextlib
from collections.abc import Mapping
from typing import Any

import anyio

from parley.agents import remote
from parley.agents.model.base import Model, ModelRefused, ModelUnavailable
from parley.agents.models.function import Turn
from parley.observability import tracing

_CANCEL_S = 5.0


def make(options: Mapping[str, Any]) -> Model:
    """The model. Raises ModelMisconfigured."""
    try:
        import a2a.client  # noqa: F401  # an extra
    except ModuleNotFoundError as error:
        raise remote.missing_extra_text("a2a", error) from error
    given = remote.options_of(options, url="?", key_variable="", name="a2a")
    key = remote.key_of(given)

    async def ask(prompt: str, turn: Turn) -> str:
        headers = tracing.trace_headers() | ({"Authorization": f"Bearer {key}"} if key else {})
        return await _ask(given["url"], headers, prompt, turn)

    return remote.seat(given["name"], ask)


async def _ask(url: str, headers: Mapping[str, str], prompt: str, turn: Turn) -> str:
    """What the agent says to a prompt. Raises ModelError."""
    import httpx
    from a2a.client import ClientConfig, create_client
    from a2a.client.errors import A2AClientError
    from a2a.helpers import get_artifact_text, get_message_text, new_text_message
    from a2a.types import a2a_pb2 as pb
    from a2a.utils.errors import A2AError

    task, artifacts, last, state = "", dict[str, str](), "", 0
    request = pb.SendMessageRequest(message=new_text_message(prompt, role=pb.ROLE_USER))
    over = (pb.TASK_STATE_COMPLETED, pb.TASK_STATE_FAILED, pb.TASK_STATE_CANCELED, pb.TASK_STATE_REJECTED)
    try:
        async with (
            httpx.AsyncClient(headers=dict(headers), timeout=turn.seconds_left) as http,
            await create_client(url, ClientConfig(httpx_client=http)) as client,
        ):
            try:
                async for event in client.send_message(request):
                    if event.HasField("message"):
                        return get_message_text(event.message)
                    task = event.task.id or task
                    for artifact in [*event.task.artifacts, event.artifact_update.artifact]:
                        text = get_artifact_text(artifact)
                        before = artifacts.get(artifact.artifact_id, "") if event.artifact_update.append else ""
                        artifacts |= {artifact.artifact_id: before + text} if text else {}
                    status = event.status_update.status if event.HasField("status_update") else event.task.status
                    state = status.state or state
                    last = get_message_text(status.message) or last
            finally:
                if task and state not in over:  # nobody would read what it still costs
                    with anyio.move_on_after(_CANCEL_S, shield=True), contextlib.suppress(Exception):
                        await client.cancel_task(pb.CancelTaskRequest(id=task))
    except (A2AError, A2AClientError, httpx.HTTPError) as error:
        raise ModelUnavailable(f"the A2A agent: {type(error).__name__}") from error
    if state != pb.TASK_STATE_COMPLETED:
        raise ModelRefused(f"the A2A agent ended with {pb.TaskState.Name(state)}: {last[:200]}")
    return "\n".join(artifacts.values()) or last
