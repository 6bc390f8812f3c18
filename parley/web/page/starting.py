"""Starting sessions from a page: who asks and what it may start, what it may come to, and the opening."""

import asyncio
import errno
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from parley.client import estimate
from parley.client.errors import BadInput, NotAllowed
from parley.client.opening import known_protocol, read_evidence, spelling
from parley.client.protocols import panel_setup
from parley.client.setup.options import Door
from parley.coordinator.estimate import Estimate
from parley.observability import caller
from parley.schemas.packages import prefixes
from parley.schemas.session import MAX_DOCUMENT, MAX_EVIDENCE, MAX_QUESTION, OpenSession
from parley.web import program_sessions
from parley.web.app import client_of, principal_of
from parley.web.errors import JsonResponse
from parley.web.guard import UPLOAD
from parley.web.offered_models import Offers
from parley.web.page.form_fields import offers, options, stands
from parley.web.page.reading import can
from parley.web.page.reading_requests import MOST_JSON, body_of, document, may_take
from parley.web.page.seats import to_take
from parley.web.page.shapes import Estimated, Me

MOST_FILES = 2_000
WAIT_S = 300.0
"""So long each turn of a person's seat waits for the person."""
DOOR: Door = "page"
_NAME = 255
"""Bytes of one part of a file's name."""


async def me(request: Request) -> Response:
    """Who asks, and what may be started."""
    principal = principal_of(request)
    known: Offers = request.app.state.offers
    asker = Me(
        name=principal.name,
        user=principal.credentials.user,
        operates=principal.operates,
        can=can(request),
        seats=to_take(may_take(request)),
        default_protocol=panel_setup().name,
        options=options(),
        protocols=tuple(stands(offer, known.of(offer.name).settings) for offer in offers()),
        packages=prefixes(),
        limits={"question": MAX_QUESTION, "document": MAX_DOCUMENT, "evidence": MAX_EVIDENCE, "upload": UPLOAD},
    )
    return JsonResponse(asker)


async def limits(request: Request) -> Response:
    """What who asks has used of its limits."""
    opens = "act" in can(request)
    return JsonResponse({"limits": await (await client_of(request)).limits() if opens else ()})


async def start(request: Request) -> Response:
    """Open a session."""
    with caller.root("parley gateway"):
        opening = await _opening(request)
        with spelling(DOOR, opening.protocol):
            sid = await (await client_of(request)).open(opening)
    return JsonResponse({"session": sid}, 201)


async def estimated(request: Request) -> Response:
    """What it may come to, with the workers that are alive."""
    opening = await _opening(request)
    client = await client_of(request)
    if not client.owner:
        raise NotAllowed("creds", "an estimate asks who is there, which takes an owner's credentials")
    presence = await client.workers()
    figures = await asyncio.to_thread(estimate.of, opening, presence.workers)
    return JsonResponse(_estimated(figures))


def _estimated(figures: Estimate) -> Estimated:
    priced = (s.usd_per_million_input + s.usd_per_million_output for s in figures.seats if s.metered)
    return Estimated(
        words=tuple(estimate.estimate_lines(figures)),
        likely=figures.likely,
        most=None if figures.work is not None else figures.most,
        rounds=figures.rounds,
        shortfall=figures.shortfall,
        unpriced=not all(priced),
    )


# -- what was sent


async def _opening(request: Request) -> OpenSession:
    """The session that a body asks for. Raises BadInput, TooLarge."""
    if not request.headers.get("content-type", "").startswith("multipart/form-data"):
        return await _checked(request, await body_of(request, dict[str, Any]), None)
    async with request.form(max_files=MOST_FILES, max_fields=8, max_part_size=MOST_JSON) as form:
        text = form.get("request")
        if not isinstance(text, str):
            raise BadInput("request", "wanted is a field `request` with the session as JSON")
        asked = document(text.encode(), dict[str, Any], "request")
        files = [file for file in form.getlist("evidence") if isinstance(file, UploadFile)]
        if not files:
            return await _checked(request, asked, None)
        with tempfile.TemporaryDirectory(prefix="parley-upload-") as folder:
            for file in files:
                path = Path(folder) / safe_relative_path(file.filename or "")
                await asyncio.to_thread(_kept, path, file)
            try:
                return await _checked(request, asked, Path(folder))
            except BadInput as error:
                raise BadInput(error.field, error.why.replace(folder, "what was sent")) from None


def safe_relative_path(name: str) -> PurePosixPath:
    """The path of a file that was sent, inside the folder of its evidence. Raises BadInput."""
    path = PurePosixPath(name)
    parts = name.split("/")
    bad = "\\" in name or "\0" in name or path.is_absolute() or any(p in ("", ".", "..") for p in parts)
    if bad or any(len(part.encode(errors="replace")) > _NAME for part in parts) or len(parts) > 32:
        raise BadInput("evidence", f"{name[:80]!r} is no path inside a folder")
    return path


def _kept(path: Path, file: UploadFile) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as kept:
            while piece := file.file.read(1_000_000):
                kept.write(piece)
    except (FileExistsError, NotADirectoryError, UnicodeEncodeError):
        raise BadInput("evidence", f"{path.name[:80]!r} is there twice, or its name cannot be used") from None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise BadInput("evidence", f"{path.name[:80]!r}: its path is too long for this machine") from None


async def _checked(request: Request, asked: dict[str, Any], evidence: Path | None) -> OpenSession:
    given = {name: value for name, value in asked.items() if name != "question"}
    question, protocol = asked.get("question"), str(given.get("protocol") or "")
    if given.get("humans"):
        given.setdefault("wait_for_human", WAIT_S)
    if not isinstance(question, str):
        raise BadInput("question", f"question: got {question!r}, expected text")
    if protocol:
        known_protocol(protocol)  # a saved panel is for programs
    client, known = await client_of(request), request.app.state.offers
    return await program_sessions.asked(
        client, known, question, {**given, "protocol": protocol}, DOOR, lambda of: read_evidence(of, evidence),
        documents=evidence is not None,
    )  # fmt: skip
