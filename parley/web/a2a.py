"""The door for agents that speak A2A (version 1, JSON-RPC): a session is a task, at /a2a.

The task's id is the session's, so a task is found again by any copy of the gateway. Posts are status updates, an open
item is `input-required`, the verdict is the artifact. A message in the context of a task goes on from its session. A
caller that goes away cancels nothing: it has the task's id, and `CancelTask` (parley.client.opened_session).
"""

from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

from a2a.helpers import get_message_text, new_artifact, new_data_part, new_text_message, new_text_part
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.request_handlers.response_helpers import agent_card_to_dict
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors
from google.protobuf.json_format import MessageToDict  # type: ignore[import-untyped]
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from parley.bus.errors import BusError, UnknownSession
from parley.client.client import Client
from parley.client.errors import BadInput, ParleyError, Refusal
from parley.client.evidence import SentFile
from parley.client.people import inbox
from parley.client.view.fold import Fold
from parley.schemas.wire import SchemaError
from parley.web import program_sessions, verdicts
from parley.web.app import Door, client_of, shared_of
from parley.web.doors import DoorOptions, own
from parley.web.errors import error_text
from parley.web.offered_models import Offers

PATH, CARD = "/a2a", "/.well-known/agent-card.json"
_STATES = {
    "open": pb.TASK_STATE_WORKING,
    "finished": pb.TASK_STATE_COMPLETED,
    "failed": pb.TASK_STATE_FAILED,
    "cancelled": pb.TASK_STATE_CANCELED,
    "refused": pb.TASK_STATE_REJECTED,
    "erased": pb.TASK_STATE_COMPLETED,
}
_CONTEXTS = 10_000
"""Tasks whose context is remembered; that of another one is the task itself."""
_PAGE = 100


def door(options: DoorOptions, given: Mapping[str, Any]) -> Door:
    """The door; it has no options of its own."""
    own("a2a", given, {})
    tasks = Tasks(options.offers)

    async def card(request: Request) -> Response:
        return JSONResponse(agent_card_to_dict(_card(request, ())))

    routes = (Route(CARD, card), *create_jsonrpc_routes(tasks, PATH, _Caller()))
    return Door(routes=routes, uploads=(PATH,), open=(CARD,))


class _Caller(DefaultServerCallContextBuilder):
    """Hands the request on: who asks stands in it."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        context.state["request"] = request
        return context


class Tasks(RequestHandler):
    """Sessions as tasks."""

    def __init__(self, offers: Offers) -> None:
        self._offers = offers
        self._contexts: dict[str, str] = {}
        """Session -> its context, the last ones."""

    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Any, None]:
        """Open a task, or answer one, and tell of it as it goes."""
        with _errors():
            client = await client_of(context.state["request"])
            sid, known = await self._begun(client, params.message)
            yield self._task(await program_sessions.so_far(client, sid), 0)
            async with aclosing(self._told(client, sid, known)) as events:
                async for event in events:
                    yield event

    async def on_message_send(self, params: pb.SendMessageRequest, context: ServerCallContext) -> pb.Task:
        """The same, and the task when it is over or asks something; at once where that is wanted."""
        with _errors():
            client = await client_of(context.state["request"])
            sid, known = await self._begun(client, params.message)
            if not params.configuration.return_immediately:
                async with aclosing(self._told(client, sid, known)) as events:
                    async for _ in events:
                        pass
            return self._task(await program_sessions.so_far(client, sid), params.configuration.history_length)

    async def on_subscribe_to_task(
        self, params: pb.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Any, None]:
        """Tell of a task from now on."""
        with _errors():
            client = await client_of(context.state["request"])
            fold = await program_sessions.so_far(client, params.id)
            if fold.result is not None:
                raise errors.UnsupportedOperationError(f"task {params.id} is over")
            yield self._task(fold, 0)
            async with aclosing(self._told(client, params.id, len(fold.posts))) as events:
                async for event in events:
                    yield event

    async def on_get_task(self, params: pb.GetTaskRequest, context: ServerCallContext) -> pb.Task:
        """A task as it is now."""
        with _errors():
            client = await client_of(context.state["request"])
            length = params.history_length if params.HasField("history_length") else _PAGE
            return self._task(await program_sessions.so_far(client, params.id), length)

    async def on_list_tasks(self, params: pb.ListTasksRequest, context: ServerCallContext) -> pb.ListTasksResponse:
        """The newest tasks of who asks."""
        with _errors():
            client = await client_of(context.state["request"])
            tasks = [
                pb.Task(
                    id=r.session, context_id=self._context(r.session), status=pb.TaskStatus(state=_STATES[r.status])
                )
                for r in await client.sessions(params.page_size or _PAGE)
            ]
            wanted = [t for t in tasks if params.context_id in ("", t.context_id)]
            wanted = [t for t in wanted if params.status in (0, t.status.state)]
            return pb.ListTasksResponse(tasks=wanted, page_size=len(wanted), total_size=len(wanted))

    async def on_cancel_task(self, params: pb.CancelTaskRequest, context: ServerCallContext) -> pb.Task:
        """Cancel it."""
        with _errors():
            client = await client_of(context.state["request"])
            row = await program_sessions.acted_on(client, params.id)
            if row.status != "open":
                raise errors.TaskNotCancelableError(f"task {params.id} is {row.status}")
            await client.cancel(params.id, "the A2A client cancelled it")
            return self._task(await program_sessions.so_far(client, params.id), 0)

    async def on_get_extended_agent_card(
        self, params: pb.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> pb.AgentCard:
        """The card with what may be asked for by name, for those who are let in."""
        return _card(context.state["request"], self._offers.names)

    async def _nobody_is_called(self, params: Any, context: ServerCallContext) -> Any:
        """A2A's own calls back to the client; the door `webhook` calls."""
        raise errors.PushNotificationNotSupportedError

    on_create_task_push_notification_config = on_get_task_push_notification_config = _nobody_is_called
    on_list_task_push_notification_configs = on_delete_task_push_notification_config = _nobody_is_called

    # -- sessions
    async def _begun(self, client: Client, message: pb.Message) -> tuple[str, int]:
        """(The session that a message opened or answered, how many of its posts the caller knows)."""
        text, options = get_message_text(message), MessageToDict(message.metadata)
        if message.task_id:
            await program_sessions.acted_on(client, message.task_id)
            fold = await program_sessions.so_far(client, message.task_id)
            if not fold.open_items():
                why = f"task {message.task_id} asks nothing now; for a new task send its contextId alone"
                raise errors.UnsupportedOperationError(why)
            item = str(options.get("item") or fold.open_items()[0].item)
            await inbox.answer(client, message.task_id, item, text.strip())
            return message.task_id, len(fold.posts)
        if message.context_id:
            earlier = (sid for sid, context in reversed(self._contexts.items()) if context == message.context_id)
            options.setdefault("continues", next(earlier, message.context_id))
        if any(part.HasField("url") or part.HasField("data") for part in message.parts):
            raise errors.ContentTypeNotSupportedError("parts: taken are text, and files with their bytes (raw)")
        files = [SentFile(part.filename or "file", part.raw) for part in message.parts if part.HasField("raw")]
        sid = await program_sessions.open_text_session(client, self._offers, text, options, files)
        self._contexts[sid] = message.context_id or sid
        if len(self._contexts) > _CONTEXTS:
            self._contexts.pop(next(iter(self._contexts)))
        return sid, 0

    async def _told(self, client: Client, sid: str, known: int) -> AsyncGenerator[Any, None]:
        """What is said beyond the posts that are known, until something is asked or the session is closed."""
        at: dict[str, Any] = {"task_id": sid, "context_id": self._context(sid)}
        asked: set[str] | None = None
        async with aclosing(program_sessions.heard(client, sid)) as posts:
            async for text, fold in posts:
                if len(fold.posts) <= known:
                    asked = {item.item for item in fold.open_items()}
                    continue
                new = [i for i in fold.open_items() if i.item not in (asked or ())]
                if fold.result is not None:
                    yield pb.TaskArtifactUpdateEvent(**at, artifact=_artifact(fold), last_chunk=True)
                elif not text and not new:
                    continue
                yield pb.TaskStatusUpdateEvent(**at, status=_status(fold, text))
                if new:
                    return

    def _context(self, sid: str) -> str:
        return self._contexts.get(sid, sid)

    def _task(self, fold: Fold, history: int) -> pb.Task:
        said = [text for card in fold.cards if (text := verdicts.text_of(card))]
        return pb.Task(
            id=fold.sid,
            context_id=self._context(fold.sid),
            status=_status(fold),
            artifacts=[] if fold.result is None else [_artifact(fold)],
            history=[new_text_message(text) for text in said[-history:]] if history else [],
        )


def _status(fold: Fold, text: str = "") -> pb.TaskStatus:
    """The state of a session, with what was said last, or with what it asks."""
    if fold.result is not None:
        why = new_text_message(verdicts.stop_words(fold.result))
        return pb.TaskStatus(state=_STATES[fold.result.status], message=why)
    items = fold.open_items()
    if not items:
        return pb.TaskStatus(state=pb.TASK_STATE_WORKING, message=new_text_message(text) if text else None)
    first = items[0]
    message = new_text_message(program_sessions.item_words(first, choices=True))
    message.metadata.update({"item": first.item, "choices": list(first.choices)})
    return pb.TaskStatus(state=pb.TASK_STATE_INPUT_REQUIRED, message=message)


def _artifact(fold: Fold) -> pb.Artifact:
    assert fold.result is not None, "it is closed"
    figures = new_data_part(verdicts.figures(fold.result))
    return new_artifact([new_text_part(verdicts.verdict(fold.result)), figures], "verdict", artifact_id="verdict")


def _card(request: Request, names: tuple[str, ...]) -> pb.AgentCard:
    """Who is here. To strangers it names no panel."""
    scheme = "https" if shared_of(request).config.secure else "http"
    bearer = pb.SecurityScheme(http_auth_security_scheme=pb.HTTPAuthSecurityScheme(scheme="bearer"))
    about = "Several agents argue a question, and a moderator measures when they agree."
    return pb.AgentCard(
        name="Parley",
        description=about,
        version="1",
        supported_interfaces=[
            pb.AgentInterface(
                url=f"{scheme}://{request.headers['host']}{PATH}", protocol_binding="JSONRPC", protocol_version="1.0"
            )
        ],
        capabilities=pb.AgentCapabilities(streaming=True, extended_agent_card=True),
        security_schemes={"bearer": bearer},
        security_requirements=[pb.SecurityRequirement(schemes={"bearer": pb.StringList()})],
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain", "application/json"],
        skills=[
            pb.AgentSkill(id="debate", name="Debate a question", description=about, tags=["debate"]),
            *(
                pb.AgentSkill(id=name, name=name, description=f"Ask with metadata.protocol: {name}", tags=["debate"])
                for name in names
            ),
        ],
    )


@contextmanager
def _errors() -> Iterator[None]:
    """Errors of Parley as those of A2A: the field, the value and what is allowed."""
    try:
        yield
    except UnknownSession as error:
        raise errors.TaskNotFoundError(f"there is no task {error.sid}, or you may not read it") from error
    except (ParleyError, BusError, SchemaError) as error:
        ours = not isinstance(error, BadInput | Refusal | SchemaError)
        raise (errors.InternalError if ours else errors.InvalidParamsError)(error_text(error)) from error
