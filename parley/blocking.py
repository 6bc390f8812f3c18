"""Ask from a script or a notebook: a call that returns the result, without `async`."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from parley.client.api import AskOptions
from parley.client.choice import PYTHON, choose, takers
from parley.client.errors import bad_input
from parley.client.opening import check_types, known_protocol, with_panel
from parley.client.rendering.told import Result
from parley.coordinator.admission import check_language_models, check_sources
from parley.coordinator.machine import Inadmissible
from parley.planned.local_stack import local
from parley.schemas.post import Live, Post
from parley.stack.announce import expected_announcements
from parley.stack.rows import rows_of

if TYPE_CHECKING:
    from parley.client.learned.learning import LearnReport

T = TypeVar("T")


def ask(
    question: str,
    *,
    model: str = "",
    options: Mapping[str, Any] | None = None,
    state: Path | str | None = None,
    learned: Path | str | None = None,
    detach: bool = False,
    on_post: Callable[[Post], None] | None = None,
    on_live: Callable[[Live], None] | None = None,
    **asked: Unpack[AskOptions],
) -> Result:
    """Ask one question on a stack of your own, wait for the result, and end the stack.

    It needs no `await`, and also works where an event loop runs already, as in a notebook. For more than one question
    `local` is faster, because its stack starts only once.

    Parameters
    ----------
    model, options, state, learned
        As `local` takes them.
    detach, on_post, on_live
        As `Parley.ask` takes them. Ctrl-C stops waiting.
    protocol, panel, evidence, settings, budget, seed, turn_timeout_s, seats, continues, folder, kind
        As `Parley.start` takes them.

    Raises
    ------
    BadInput
        An argument has a wrong value. The error names the field.
    Refusal
        A moderator refused the session, with the reason.
    StackFailed
        The stack did not start.
    """
    check_types(question, asked)  # before a stack starts for it

    async def main() -> Result:
        protocol = asked.get("protocol") or _chosen(question, asked)
        size = None
        if protocol:
            known_protocol(protocol)
            size = _panel_of(protocol, with_panel(protocol, asked.get("settings") or {}, asked.get("panel")))
            reads = any(asked.get(name) for name in ("evidence", "folder", "continues", "seats"))
            _check_models(protocol, size, model, options, reads=reads)
        own = local(size, protocol=protocol, model=model, options=options, state=state, learned=learned)
        async with own as parley:
            return await parley.ask(question, detach=detach, on_post=on_post, on_live=on_live, **asked)

    return run_blocking(main())


def learn(*, state: Path | str | None = None, learned: Path | str | None = None) -> "LearnReport":
    """Update records and calibration (docs/reliability.md) from the feedback on the sessions of a state folder.

    Parameters
    ----------
    state
        The state folder of the stack that held the sessions. None: that of the command line.
    learned
        The file that it is kept in. None: `learned.json` in `state`.

    Raises
    ------
    BadInput
        A file cannot be read or written.
    StackFailed
        The stack did not come up.
    """
    from parley.learned.learning import learned_now
    from parley.settings import LearnedSection, Settings

    section = LearnedSection(file=None if learned is None else Path(learned))
    settings = Settings(learned=section, state=None if state is None else Path(state))  # as for `ask`, of no layer
    return run_blocking(learned_now(settings))


def _chosen(question: str, asked: AskOptions) -> str:
    """The protocol that what is asked goes to; empty: the session that it goes on from decides. Raises BadInput as
    parley.client.choice.choose."""
    if asked.get("continues"):
        return ""
    return choose(
        question,
        folder=asked.get("folder") is not None,
        documents=asked.get("evidence") is not None,
        allowed=takers(asked),
        spelled=PYTHON,
    ).protocol


def _panel_of(protocol: str, settings: Mapping[str, Any]) -> int | None:
    from parley.client.protocols import setup_of

    several = setup_of(protocol).several
    size = settings.get(several.setting) if several else None
    return size if isinstance(size, int) else None


def _check_models(
    protocol: str, size: int | None, model: str, options: Mapping[str, Any] | None, *, reads: bool
) -> None:
    """Raise BadInput where a seat needs a language model and would have none, or all have none and nothing to read:
    before a stack starts for it."""
    known = known_protocol(protocol)
    there = expected_announcements(rows_of(protocol, size, model=model, options=dict(options or {})))
    with bad_input("", Inadmissible):
        check_language_models(known, there)
        check_sources(known, there, reads=reads)


def run_blocking(main: Coroutine[Any, Any, T]) -> T:
    """What a coroutine comes to. Where this thread has a running loop, it runs in a thread of its own; Ctrl-C cancels
    it there too."""
    if not _in_a_loop():
        return asyncio.run(main)
    runs: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = Future()
    done: Future[T] = Future()

    async def inside() -> None:
        task = asyncio.ensure_future(main)
        runs.set_result((asyncio.get_running_loop(), task))
        await asyncio.wait((task,))
        if task.cancelled():
            done.cancel()
        elif error := task.exception():
            done.set_exception(error)
        else:
            done.set_result(task.result())

    thread = threading.Thread(target=asyncio.run, args=(inside(),), daemon=True)
    thread.start()
    try:
        return done.result()
    except KeyboardInterrupt:
        loop, task = runs.result()
        loop.call_soon_threadsafe(task.cancel)
        raise
    finally:
        thread.join()


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
