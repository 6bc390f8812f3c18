"""An agent that is a function: a turn in, a reply out. Whatever framework it calls inside, it holds one seat.

    import parley

    @parley.agent(role="panelist")
    async def answer(turn: parley.Turn) -> parley.Reply:
        return parley.Reply(answer="Canary", reasoning="It is the safest of the three.", confidence=0.7)

It runs as a service (`parley agent my_module:answer --queue panelist_1`), or inside a stack of one's own
(`parley.local(agents=[answer])`). Both are a worker like any other: with the credentials of its queue, a deadline a
turn, and one vote a seat however many copies run. A function that raises fails its turn, and the session goes on.

What it returns is checked against the turn's own type before it is sent. A moderator checks it again.
"""

import importlib
import inspect
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import msgspec

from parley.agents.context import Other, Shown
from parley.agents.hearing import Hear
from parley.agents.model.base import Completion, Emit, ModelError, ModelMisconfigured, ModelRefused
from parley.agents.prompts import prompting
from parley.agents.specs import AgentSpec
from parley.bus.channels import ACCOUNT_OF_ROLE
from parley.schemas.post import Post
from parley.schemas.session import Document
from parley.schemas.turn import Speak, Usage
from parley.schemas.wire import SchemaError

_LOGGER = logging.getLogger(__name__)
PATH = re.compile(r"[\w.]+:\w+")
"""`module:function`."""
_ANSWER = "answer"
"""The field that a plain text is, where the reply's type has it."""


class Reply:
    """What a function replies, field by field: `Reply(answer="Canary", confidence=0.7, reasoning="...")`.

    Parameters
    ----------
    fields
        Fields of the turn's reply type (`turn.schema()`). Others have their defaults.
    usage
        Tokens and money that the reply cost, if the agent knows them (`@agent(metered=True)`). What it leaves out is
        counted for it: tokens by the texts, a cost by the agent's prices.
    """

    def __init__(self, *, usage: Usage | None = None, **fields: Any) -> None:
        self.fields = fields
        self.usage = usage or Usage()

    def __repr__(self) -> str:
        return f"Reply({', '.join(f'{name}={value!r}' for name, value in self.fields.items())})"


class Turn:
    """One request to the agent's seat.

    Attributes
    ----------
    session, seat, role, kind, round, question
        Where the turn belongs. `kind` says what is asked, such as `answer`, `revise` or `compare`.
    brief
        What the moderator asks, as the protocol's own message.
    others
        What others said, without names: each has the number of its `post`, a `kind` and a typed `body`.
    own
        The seat's own last position; None: it has none.
    documents
        Each has a `name` and a `text`.
    background
        The result of the session that the question follows up; it is no evidence.
    error
        Why the last reply to this turn was refused; empty: the first attempt.
    """

    def __init__(self, shown: Shown, emit: Emit) -> None:
        self.shown = shown
        """Everything that the agent is shown, as Parley's own models get it."""
        self._emit = emit
        self.session, self.seat, self.role = shown.session, shown.seat, shown.role
        self.protocol, self.kind, self.round, self.question = shown.protocol, shown.kind, shown.round, shown.question
        self.brief: Any = shown.brief
        self.others: tuple[Other, ...] = shown.others
        self.own: Any = shown.own
        self.documents: tuple[Document, ...] = shown.documents
        self.background = shown.background
        self.error = shown.error

    @property
    def seconds_left(self) -> float:
        """Until the turn's deadline; 0 or more."""
        return max(0.0, self.shown.deadline_ns / 1e9 - time.time())

    def schema(self) -> dict[str, Any]:
        """JSON Schema of the reply."""
        return msgspec.json.schema(self.shown.reply)

    def prompt(self) -> list[dict[str, Any]]:
        """The messages that Parley's own language model would get, with the reply's schema: a list of
        `{"role", "content"}`. What the model writes may be returned as it is.

        Raises
        ------
        ModelRefused
            No prompt is written for this kind of turn.
        ModelMisconfigured
            What cannot be cut is more than the turn's cap of input tokens.
        """
        return list(prompting.build(self.shown, self.schema()).messages)

    def say(self, text: str) -> None:
        """Show live text to whoever watches, where the round may be read already."""
        self._emit(text)


Function = Callable[[Turn], Coroutine[Any, Any, Any]]
React = Callable[[Post], Speak | None]


class Agent:
    """A function that holds a seat; made by `agent`. Calling it calls the function."""

    def __init__(
        self,
        function: Function,
        role: str,
        queue: str,
        name: str,
        metered: bool,
        room: int,
        prices: tuple[float, float],
    ) -> None:
        self.function, self.role, self.queue, self.metered, self.room = function, role, queue, metered, room
        self.prices = prices
        self.name = name or function.__name__
        self._hears: dict[tuple[str, str], React] = {}
        self.__name__, self.__doc__ = function.__name__, function.__doc__

    def __call__(self, turn: Turn) -> Coroutine[Any, Any, Any]:
        return self.function(turn)

    def hears(self, kind: str, channel: str = "public") -> Callable[[React], React]:
        """Decorate a function that hears posts of this kind and may speak up: it returns a `Speak`, or None.

        It is called in the worker's own loop for each such post of each session. So it must be quick, and it asks no
        model. Where nobody's words are asked for, the moderator refuses them.
        """

        def decorate(react: React) -> React:
            self._hears[channel, kind] = react
            return react

        return decorate

    @property
    def hear(self) -> Hear | None:
        """What it does about posts; None: nothing."""
        if not self._hears:
            return None
        return Hear(tuple(self._hears), self._react)

    def _react(self, post: Post) -> Speak | None:
        return self._hears[post.channel, post.kind](post)

    def spec(self, queue: str = "") -> AgentSpec:
        """The worker that it is. `queue`: instead of its own. Raises ModelMisconfigured where neither names one."""
        queue = queue or self.queue
        if not queue:
            raise ModelMisconfigured(f"agent {self.name}: which queue does it serve? Name it: --queue {self.role}_1")
        return AgentSpec(queue=queue, roles=(self.role,), room=self.room)

    def model(self) -> "FunctionModel":
        """The model by which a worker answers turns."""
        return FunctionModel(self)


class FunctionModel:
    """Answers turns by an agent's function (parley.agents.model.base.Model)."""

    family = "function"

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self.name = agent.name
        self.metered = agent.metered
        self.usd_per_million_input, self.usd_per_million_output = agent.prices
        self.hear = agent.hear
        self._logged: set[tuple[str, str]] = set()
        """Exceptions, by type and place, whose traceback is in the log already."""

    async def reply(self, shown: Shown, emit: Emit) -> Completion:
        """What the function replies. Raises ModelRefused for what is no reply, ModelError where the function raised."""
        try:
            reply = await self._agent.function(Turn(shown, emit))
        except ModelError:
            raise
        except Exception as error:
            why = f"agent {self.name} raised {type(error).__name__}{_where(error)}: {error}"[:1_000]
            if (place := (type(error).__name__, _where(error))) not in self._logged:
                self._logged.add(place)
                _LOGGER.warning("%s. Its turns fail until you correct the function.", why, exc_info=True)
            raise ModelError(why) from error
        usage = reply.usage if isinstance(reply, Reply) else Usage()
        try:
            return Completion(body=typed(reply, shown.reply), usage=usage)
        except (SchemaError, msgspec.ValidationError, TypeError, ValueError) as error:
            raise ModelRefused(f"agent {self.name}: {error}", usage) from error


def _where(error: Exception) -> str:
    """` in my_module.py, line 6`: the innermost place that is no installed package's; empty where there is none."""
    frames = [f for f in traceback.extract_tb(error.__traceback__)[1:] if "site-packages" not in f.filename]
    return f" in {os.path.basename(frames[-1].filename)}, line {frames[-1].lineno}" if frames else ""


def typed(value: Any, wanted: Any) -> Any:
    """What a function returned as the turn's reply type.

    Parameters
    ----------
    value
        A `Reply`, a message of that type, a mapping of its fields, or a text: JSON, a text with one JSON object in it,
        or else the answer alone.

    Raises
    ------
    msgspec.ValidationError, SchemaError, TypeError
        It is none, and which field is wrong.
    """
    if isinstance(value, wanted):
        return value
    fields = value.fields if isinstance(value, Reply) else value
    if isinstance(fields, str):
        fields = _of_text(fields, wanted)
        if isinstance(fields, wanted):
            return fields
    if not isinstance(fields, Mapping):
        raise TypeError(f"it returned {type(value).__name__}; expected parley.Reply, a mapping or a text")
    known = {field.encode_name for field in msgspec.structs.fields(wanted)}
    if unknown := [name for name in fields if name not in known]:
        raise TypeError(f"its reply has no field {unknown[0]!r}; fields are {', '.join(sorted(known))}")
    return msgspec.convert(dict(fields), wanted)


def _of_text(text: str, wanted: Any) -> Any:
    """A text as fields: the JSON in it, else the answer."""
    if "{" in text:
        from parley.agents.openai.reply_schema import Unusable, extract

        try:
            return extract(text, wanted)
        except Unusable as error:
            raise ValueError(str(error)) from error
    if _ANSWER not in {field.encode_name for field in msgspec.structs.fields(wanted)}:
        raise ValueError(f"it returned a text without a JSON object; expected a {wanted.__name__}")
    required = [f.encode_name for f in msgspec.structs.fields(wanted) if f.required and f.encode_name != _ANSWER]
    plain = {"reasoning": "", "confidence": 0.5}
    return {_ANSWER: text.strip(), **{name: plain[name] for name in required if name in plain}}


def agent(
    role: str,
    *,
    queue: str = "",
    name: str = "",
    metered: bool = False,
    room: int = 4,
    usd_per_million_input: float = 0.0,
    usd_per_million_output: float = 0.0,
) -> Callable[[Function], Agent]:
    """Make a function an agent: `@agent(role="panelist")` over `async def answer(turn) -> Reply`.

    Parameters
    ----------
    role
        The role of its seat, such as panelist, debater or critic (parley.bus.channels.ACCOUNT_OF_ROLE).
    queue
        The queue that it serves; empty: the command line or `parley.local` names it.
    name
        Its name in transcripts; empty: the function's name.
    metered
        Whether it uses tokens. Then budgets reserve room for its turns. What its replies do not tell
        (`Reply(usage=...)`) is estimated from the texts, and marked so.
    room
        Turns at once, 1 to 10,000.
    usd_per_million_input, usd_per_million_output
        What its tokens cost, in US dollars for a million. 0 and 0: not known, and its cost is marked so.

    Raises
    ------
    TypeError
        The function is not a coroutine function (`async def`).
    ValueError
        There is no such role.
    """
    if role not in ACCOUNT_OF_ROLE:
        raise ValueError(f"role: got {role!r}, known are {', '.join(sorted(ACCOUNT_OF_ROLE))}")
    prices = usd_per_million_input, usd_per_million_output
    if not all(0 <= price <= 1e6 for price in prices) or (any(prices) and not metered):
        raise ValueError(f"prices: got {prices[0]} and {prices[1]}, allowed is 0 to 1e6 of an agent with metered=True")

    def decorate(function: Function) -> Agent:
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"agent {getattr(function, '__name__', function)!r} must be written with async def")
        return Agent(function, role, queue, name, metered, room, prices)

    return decorate


def imported(what: str, path: str) -> Any:
    """What `module:attribute` names. Raises ModelMisconfigured."""
    module, _, attribute = path.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)
    except Exception as error:  # whatever the operator's module raises
        why = error if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
        raise ModelMisconfigured(f"{what} {path!r} cannot be imported: {why}") from error


def import_agent(path: str) -> Agent:
    """The agent that `module:function` names, looked for in the working folder, too. Raises ModelMisconfigured."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    agent = imported("agent", path)
    if not isinstance(agent, Agent):
        raise ModelMisconfigured(f"agent {path!r} is no agent: write @parley.agent(role=...) over the function")
    return agent


def load(path: str, queue: str = "") -> AgentSpec:
    """The worker that `module:function` is. `queue`: which one it serves, in place of its own. Raises
    ModelMisconfigured."""
    return import_agent(path).spec(queue).model_copy(update={"model": path})


def agents_by_queue(agents: Sequence[Agent], queues: Sequence[str]) -> dict[str, Agent]:
    """Queue -> the agent that serves it, of those that a stack has: the one that it names, else the first of its role
    that nobody has. Raises ModelMisconfigured where there is none."""
    by_queue: dict[str, Agent] = {}
    for candidate in sorted(agents, key=lambda a: not a.queue):
        free = [
            q
            for q in queues
            if q not in by_queue and (q == candidate.queue or (not candidate.queue and _role(q) == candidate.role))
        ]
        if not free:
            wanted = f"queue {candidate.queue}" if candidate.queue else f"free queue of role {candidate.role}"
            raise ModelMisconfigured(f"agent {candidate.name}: the stack has no {wanted}; it has {', '.join(queues)}")
        by_queue[free[0]] = candidate
    return by_queue


def _role(queue: str) -> str:
    """The role that a queue's name says: panelist of panelist_2."""
    stem, _, number = queue.rpartition("_")
    return stem if number.isdigit() else queue
