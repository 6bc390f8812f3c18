"""Tests of one's own agents, models and protocols, without a process, a bus or a model's key (docs/extending.md).

turn       one turn, as an agent gets it
scripted   a seat or a judge that says what a test wrote down
play       a whole session in memory: the table, the prompts' context, and an agent or a model in each seat
allow      take the parts of installed packages, as the operator's variable does
check_agent, check_model, check_protocol
           what Parley expects of each: a test of one line
"""

from parley.testing.contracts import allow, check_agent, check_model, check_protocol
from parley.testing.in_memory import Played, play, play_async
from parley.testing.scripts import Scripted, scripted
from parley.testing.turns import turn

__all__ = [
    "Played",
    "Scripted",
    "allow",
    "check_agent",
    "check_model",
    "check_protocol",
    "play",
    "play_async",
    "scripted",
    "turn",
]
