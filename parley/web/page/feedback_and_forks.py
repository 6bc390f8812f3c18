"""What people do with a session that is over: say whether it is right, and carry its record on in another one."""

from starlette.requests import Request
from starlette.responses import Response

from parley.client.errors import BadInput
from parley.client.opening import limits_of, without_files
from parley.client.what_if import wanted
from parley.observability import caller
from parley.schemas.session import ForkSession
from parley.schemas.wire import InvalidValue
from parley.web.app import client_of
from parley.web.errors import JsonResponse
from parley.web.page.messages import Done, Fork, GiveFeedback
from parley.web.page.reading_requests import body_of, sid_of
from parley.web.program_sessions import acted_on


async def feedback(request: Request) -> Response:
    """Keep what somebody says of a result."""
    asked, sid = await body_of(request, GiveFeedback), sid_of(request)
    client = await client_of(request)
    await acted_on(client, sid)
    await client.feedback(sid, right=asked.right, answer=asked.answer, note=asked.note)
    return JsonResponse(Done(message=f"its result is {'right' if asked.right else 'wrong'}, as you say"))


async def fork(request: Request) -> Response:
    """Open a session that carries the record of another one on."""
    asked, sid = await body_of(request, Fork), sid_of(request)
    client = await client_of(request)
    row = await acted_on(client, sid, own=True)
    without_files(row.protocol, asked.settings)
    try:
        changed = wanted(row.protocol, {row.protocol: asked.settings})
        opening = ForkSession(of=sid, round=asked.round, settings=changed, budget=limits_of(asked.budget, "page"))
    except InvalidValue as error:
        raise BadInput(error.field, str(error)) from error
    with caller.root("parley gateway"):
        opened = await client.fork(opening)
    return JsonResponse({"session": opened}, 201)
