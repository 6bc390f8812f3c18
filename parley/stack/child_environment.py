"""Which environment variables each process of an embedded stack gets. What no pattern here names is not passed on.

| process | variables |
|---|---|
| nats-server and its guardian | NATS_SERVER |
| supervisor, moderators, agents | SERVICE |
| whoever sends traces, an agent with a model or encoder elsewhere | NETWORK as well |
| an agent whose encoder loads a model | LOADED as well |
| an agent | and what its own model and encoder are set by (parley.agents.config.variables_of), one key of each |
| an expert with hands of others | and what their model is set by (parley.agents.hands.made.variables) |

A service is forked from the supervisor without `exec`, so what the supervisor has, each has. The supervisor therefore
gets no key. What is for one service only lies in an anonymous file of its own (parley.stack.queues.making); the
supervisor holds it open and does not read it, and the service closes all others before it reads its own.
"""

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from parley.observability.setup import ENDPOINT, TRACES_ENDPOINT
from parley.schemas.expert import NO_HANDS, expert_of
from parley.stack.rows import AgentRow, names_models

if TYPE_CHECKING:
    from parley.agents.specs import AgentSpec

_SYSTEM = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "LC_*", "TZ", "TZDIR", "TMPDIR", "LD_LIBRARY_PATH")
_OWN = ("PARLEY_[!_]*",)
"""Settings (PARLEY__...) are read before a stack starts, and may hold a secret."""
NATS_SERVER = (*_SYSTEM, *_OWN, "GOGC", "GOMEMLIMIT", "GOMAXPROCS", "GODEBUG")
SERVICE = (*_SYSTEM, *_OWN, "PYTHON*", "MALLOC_*", "OTEL_*")
NETWORK = (
    "[Hh][Tt][Tt][Pp]_[Pp][Rr][Oo][Xx][Yy]",
    "[Hh][Tt][Tt][Pp][Ss]_[Pp][Rr][Oo][Xx][Yy]",
    "[Aa][Ll][Ll]_[Pp][Rr][Oo][Xx][Yy]",
    "[Nn][Oo]_[Pp][Rr][Oo][Xx][Yy]",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
)
"""A proxy's address may hold a password."""
LOADED = ("HF_*", "HUGGINGFACE_*", "TRANSFORMERS_*", "SENTENCE_TRANSFORMERS_*", "TORCH_*", "CUDA_*", "XDG_CACHE_HOME")
_TOOLS, _HANDS = "PARLEY_TOOLS", "PARLEY_HANDS"
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
"""A process with threads cannot be forked."""


def matching(patterns: Iterable[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that a pattern names."""
    wanted = tuple(patterns)
    return {name: value for name, value in environ.items() if any(fnmatchcase(name, p) for p in wanted)}


def of_supervisor(environ: Mapping[str, str]) -> dict[str, str]:
    """The supervisor's own: the same modules as here, and nothing from the working folder."""
    path = os.pathsep.join([*(p for p in sys.path if p), str(Path(str(resources.files("parley"))).parent)])
    return {**matching(SERVICE, environ), **_ONE_THREAD, "PYTHONPATH": path}


def of_moderators(environ: Mapping[str, str]) -> dict[str, str]:
    """What moderators get beside the supervisor's environment."""
    return matching(NETWORK, environ) if _traced(environ) else {}


def of_agents(rows: tuple[AgentRow, ...], environ: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """What single agents get beside the supervisor's environment, by queue. `environ`: of the user who needs them. What
    a file `.env` says for an agent's model is taken too."""
    network = matching(NETWORK, environ) if _traced(environ) else {}
    if not names_models(rows, environ):
        return {row.queue: network for row in rows if network}
    return {row.queue: own for row in rows if (own := {**network, **_of_agent(row, environ)})}


def without_network(own: Mapping[str, str]) -> dict[str, str]:
    """Of what an agent gets: what makes it another agent."""
    network = matching(NETWORK, own)
    return {name: value for name, value in own.items() if name not in network}


def _traced(environ: Mapping[str, str]) -> bool:
    return bool(environ.get(ENDPOINT) or environ.get(TRACES_ENDPOINT))


def _of_agent(row: AgentRow, environ: Mapping[str, str]) -> dict[str, str]:
    from parley.agents.config import environment, variables_of
    from parley.agents.models import ModelError
    from parley.agents.specs import SpecError
    from parley.stack.services import spec_of

    try:
        over_file = environment(environ=environ)
        spec, own = variables_of(spec_of(row), over_file)
    except (ModelError, SpecError):
        return {}  # its own process says so
    variables = {**_beyond(spec, environ), **own}
    if expert_of(row.queue):
        variables |= {name: over_file[name] for name in (_TOOLS, _HANDS) if name in over_file}
        variables |= _of_hands(spec, over_file, environ)
    return variables


def _of_hands(spec: "AgentSpec", over_file: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """What the model of an expert's hands is set by; none where its own model does the work."""
    if spec.expert is None or spec.expert.hands in NO_HANDS:
        return {}
    from parley.agents.hands.made import variables
    from parley.agents.models import ModelError

    try:
        return {**matching(NETWORK, environ), **variables(spec.expert, over_file)}
    except ModelError:
        return {}  # its own process says so


def _beyond(spec: "AgentSpec", environ: Mapping[str, str]) -> dict[str, str]:
    """What a model or an encoder that is not of this machine's processor alone needs."""
    if spec.model == "openai" or ":" in spec.model:
        return matching(NETWORK, environ)
    encoder = spec.options.get("encoder")
    name = encoder.get("name") if isinstance(encoder, dict) else encoder
    return {} if name in (None, "embedded", "none") else matching((*NETWORK, *LOADED), environ)


@contextlib.contextmanager
def anonymous(data: bytes) -> Iterator[int]:
    """A file without a name, in memory where the system can do that."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("parley")
    else:
        with tempfile.TemporaryFile() as file:
            fd = os.dup(file.fileno())
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        yield fd
    finally:
        os.close(fd)
