"""One turn of an agent of others, in the task's folder, in the sandbox.

The agent sees the folder, the programs that it needs, its throw-away home, and one port of its loopback that leads to
the turn's proxy (parley.agents.hands.proxy). Its exit status says only that it ended, and its words are a claim: what
it did is what the folder is afterwards. It ends with the turn, and with this process.
"""

import json
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from parley.agents.command.program import extract_text
from parley.agents.equipment import HandsEnd
from parley.agents.hands import inlet
from parley.agents.hands.catalogue import Hand
from parley.agents.hands.proxy import Room, TurnProxy
from parley.agents.model.base import Emit, ModelUnavailable, tell_called
from parley.agents.openai.options import EndpointOptions
from parley.agents.secrets import scrub
from parley.agents.strict_yaml import filled
from parley.agents.tools import sandbox
from parley.agents.tools.folder import TaskFolder
from parley.agents.tools.sandbox import Around, CannotRun, ProcessLimits, Ran, Talk
from parley.schemas.tools import ToolCall, call_words
from parley.schemas.turn import Caps, Usage

SERVER = "hands"
"""In place of a tool server's name, in the record of what an agent did."""
AT = "/run/parley"
"""Where the sandbox shows what is for the turn alone."""
_PORT = 21_999
URL = f"http://127.0.0.1:{_PORT}"
"""Of the model, as the sandbox has it."""
_BEFORE_THE_END_S = 8.0
"""The agent is ended so long before the turn: its folder has to be packed, and the reply has to arrive."""
_SHARE = 0.1
"""Of a short turn."""
MOST_WORDS = 20_000
"""Characters of what it printed that are taken as its words."""
_MOST_ARGUMENT = 120_000
"""Bytes of one argument; Linux takes 131,072."""
_SHOWN = 1_600
"""Characters of what it printed that the record holds."""


class AgentHands:
    """The hands of one expert's worker.

    Parameters
    ----------
    name
        As the operator's list has it.
    options
        Address, key, model and price of its model.
    """

    def __init__(self, name: str, hand: Hand, options: EndpointOptions) -> None:
        self.name = name
        self.hand = hand
        self.options = options
        self.price = options.effective_price
        self.why_not = sandbox.unavailable()
        """Why it cannot work here; empty: it can, as far as is known."""

    async def work(self, prompt: str, folder: TaskFolder, caps: Caps, deadline_ns: int, emit: Emit) -> HandsEnd:
        """Let the agent work until it ends or is ended; never longer than the turn. Raises ModelUnavailable: there is
        no sandbox, or no such program."""
        turn = folder.home / "turn"
        turn.mkdir(mode=0o700)
        limits = self.hand.limits
        room = Room(
            tokens=min(limits.tokens, caps.all_tokens),
            output=caps.all_output * caps.calls,
            answer=limits.output_tokens,
            calls=caps.calls,
        )
        async with TurnProxy(turn, self.options, room) as proxy:
            seconds = _seconds(limits.seconds, deadline_ns)
            work = self._over_acp if self.hand.acp else self._command
            end = await work(prompt, folder.root, turn, proxy, seconds, emit)
        return end._replace(usage=proxy.usage)  # a call that the agent's end broke off is booked with the proxy's

    async def _command(
        self, prompt: str, root: Path, turn: Path, proxy: TurnProxy, seconds: float, emit: Emit
    ) -> HandsEnd:
        values = self._values(prompt, proxy)
        lay_out(turn, self.hand, self.hand.argv, values, reads_it=not any("{prompt" in w for w in self.hand.argv))
        ran = await start(self.hand, root, turn, values, seconds, until=proxy.over)
        self._check_started(ran, proxy)
        call, results = self._record(ran)
        tell_called(emit, call_words(call))
        said = extract_text(ran.output, self.hand.out).strip()[-MOST_WORDS:]
        failed = self._with_last_words("" if ran.exit == 0 else ran.ended or f"exit {ran.exit}", ran)
        return HandsEnd(said, ran.ended, failed, (call,), Usage(), results)

    async def _over_acp(
        self, prompt: str, root: Path, turn: Path, proxy: TurnProxy, seconds: float, emit: Emit
    ) -> HandsEnd:
        from parley.agents.hands.acp_session import AcpSession  # an extra

        values = self._values(prompt, proxy)
        lay_out(turn, self.hand, self.hand.argv, values, reads_it=False)
        session = AcpSession(self.hand, prompt, emit, proxy.spent, seconds, self.name)
        ran = await start(self.hand, root, turn, values, seconds, until=proxy.over, talk=session.talk)
        self._check_started(ran, proxy)
        ended = session.ended or ran.ended
        failed = self._with_last_words(session.failed or ended, ran)
        return HandsEnd(session.words[-MOST_WORDS:], ended, failed, tuple(session.recorded), Usage())

    def _values(self, prompt: str, proxy: TurnProxy) -> dict[str, str]:
        return {
            "url": URL,
            "token": proxy.token,
            "model": self.options.model,
            "prompt": prompt,
            "prompt_file": f"{AT}/prompt.txt",
        }

    def _check_started(self, ran: Ran, proxy: TurnProxy) -> None:
        if ran.exit is None and not ran.stopped:
            raise ModelUnavailable(f"hands {self.name}: {ran.ended}", proxy.usage)

    def _with_last_words(self, why: str, ran: Ran) -> str:
        """Why it may have done nothing, with the end of what it printed; empty: there is no reason."""
        last = scrub((ran.errors.strip() or ran.output.strip())[-1_000:], self.options.api_key, most=400)
        return f"{why}; its last words: {last}" if why and last else why

    def _record(self, ran: Ran) -> tuple[ToolCall, dict[str, str]]:
        """The run as a call of a tool. How it ended is told as text: what an agent ran is not a command that was seen
        to succeed."""
        text = f"{ran.output.strip()}\n\n{ran.errors.strip()}".strip()
        how = ran.ended or f"exit {ran.exit}"
        call = ToolCall(
            server=SERVER,
            tool=self.name,
            arguments=json.dumps({"model": self.options.model}),
            ok=ran.exit == 0,
            result=f"{how}\n\n{text[-_SHOWN:]}".strip(),
            seconds=round(ran.seconds, 3),
        )
        if len(text) <= _SHOWN:
            return call, {}
        file = f"001-{SERVER}.{self.name}.txt"
        return msgspec.structs.replace(call, whole=file), {file: text}


def lay_out(turn: Path, hand: Hand, argv: Sequence[str], values: dict[str, str], *, reads_it: bool) -> None:
    """Lay what the inlet needs into the turn's folder. `reads_it`: the prompt is the agent's input, else that is
    empty."""
    shutil.copyfile(inlet.__file__, turn / "inlet.py")
    (turn / "prompt.txt").write_text(values["prompt"], encoding="utf-8", errors="replace")
    told = values | {"prompt": values["prompt"].encode(errors="replace")[:_MOST_ARGUMENT].decode(errors="ignore")}
    run = {
        "argv": [filled(word, told) for word in argv],
        "port": _PORT,
        "prompt": reads_it,
        "home": {path: filled(text, values) for path, text in hand.home.items()},
    }
    (turn / "run.json").write_text(json.dumps(run), encoding="utf-8")


async def start(
    hand: Hand,
    root: Path,
    turn: Path,
    values: Mapping[str, str],
    seconds: float,
    *,
    until: Callable[[], Awaitable[str]] | None = None,
    talk: Talk | None = None,
) -> Ran:
    """Run the inlet, and with it the agent."""
    try:
        reads = (*sandbox.needed_by(hand.argv[0]), *hand.reads)
    except CannotRun as error:
        return Ran(None, str(error), "", 0.0)
    env = {name: filled(text, values) for name, text in hand.env.items()}
    limits = ProcessLimits(seconds=seconds, memory=hand.limits.memory_mb * 2**20)
    argv = [sys.executable, "-I", "-S", f"{AT}/inlet.py", AT]
    return await sandbox.run(
        argv, root, limits=limits, reads=reads, around=Around(env=env, shows={turn: AT}, until=until, talk=talk)
    )


def _seconds(most: float, deadline_ns: int) -> float:
    if not deadline_ns:
        return most
    left = (deadline_ns - time.time_ns()) / 1e9
    return max(1.0, min(most, left - min(_BEFORE_THE_END_S, _SHARE * left)))
