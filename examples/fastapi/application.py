"""A FastAPI application with a panel: it asks by itself, and shows Parley's page beneath /parley.

    pip install fastapi uvicorn
    uvicorn --app-dir examples/fastapi application:app

It asks the panel at /ask, and sends a browser to the page at /. Without LLM_PROVIDER and LLM_MODEL
the panel quotes documents, so that the example runs anywhere.
"""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import RedirectResponse

import parley
from parley.schemas.protocols.consensus import Outcome

TEXTS: dict[str, str | bytes] = {
    "canal.md": "The Suez Canal opened in 1869 for ships. It was dug in ten years.",
    "trade.md": "After 1869 ships from London to Bombay saved 7,000 km by the canal at Suez.",
}

web = parley.web_app(panel=3)
app = FastAPI(lifespan=web.lifespan)
app.mount("/parley", web)


@app.get("/ask")  # type: ignore[untyped-decorator]  # FastAPI is in an environment of its own
async def ask(question: str = "In which year did the Suez Canal open?") -> dict[str, Any]:
    """Ask the panel."""
    result = await web.parley.ask(question, evidence=TEXTS)
    outcome = result.outcome_as(Outcome)
    return {
        "answer": outcome.answer,
        "agreed": result.stop.converged,
        "dissent": [report.seat for report in outcome.minority],
        "session": f"/parley/s/{result.session}",
    }


@app.get("/")  # type: ignore[untyped-decorator]
async def page(request: Request) -> RedirectResponse:
    """To the page. An application with users of its own asks who it is first."""
    return RedirectResponse(web.link(f"{request.base_url}parley"))
