"""What people do with a session that is over: say whether it is right, and carry its record on in another one."""

from starlette.requests import Request
from starlette.responses import Response

from client.errors import BadInput
from client.what_if import wanted
from gateway.app import client_of
from gateway.asking import acted_on
from gateway.errors import JsonResponse
from gateway.offers import without_files
from gateway.web.asked import Done, Fork, GiveFeedback, Started
from gateway.web.asking import body_of, sid_of
from gateway.web.starting import budget_of
from observability import caller
from schemas.session import Budget, ForkSession
from schemas.wire import InvalidValue


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
        limits = Budget(**budget_of(asked.budget)) if asked.budget else None
        changed = wanted(row.protocol, {row.protocol: asked.settings})
        opening = ForkSession(of=sid, round=asked.round, settings=changed, budget=limits)
    except InvalidValue as error:
        raise BadInput(error.field, str(error)) from error
    except TypeError as error:
        raise BadInput("budget", str(error)) from error
    with caller.root("parley gateway"):
        opened = await client.fork(opening)
    return JsonResponse(Started(session=opened), 201)
