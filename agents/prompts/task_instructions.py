"""The rules of a turn in words, one text for a language model and for a person: what the prompt asks of the seat.

A person gets the prompt's task without what stands elsewhere on the screen (posts, documents, its own last position)
and without the form of a model's reply; what each field is for stands where the person fills it.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from parley.agents.context import Shown
from parley.agents.model.base import ModelRefused
from parley.agents.prompts.prompting import quoting
from parley.agents.prompts.templates import fill, same_answer, template, without_fields
from parley.agents.protocols import kind_of
from parley.agents.turn_kinds.settled import settled

_HEAD = re.compile(r"^(?:The fields of your reply|Your reply's fields).*:$", re.MULTILINE)
_FIELD = re.compile(r"^- ((?:`\w+`(?:, )?)+)[^:]*: (.+)$", re.MULTILINE)


class TaskInstructions(NamedTuple):
    """What a turn asks."""

    text: str
    fields: Mapping[str, str]
    """Field of the reply -> what it is for."""


def task_instructions(shown: Shown, state: str) -> TaskInstructions:
    """The rules of a turn. `state`: the turn's brief as the person reads it, where the prompt shows it."""
    try:
        parts = template(shown.protocol, shown.kind)
    except ModelRefused:  # nobody has written any: the brief says it
        return TaskInstructions(state or shown.kind, {})
    kind = kind_of(shown.protocol, shown.kind)
    values = defaultdict(
        str,
        {
            "role": shown.role,
            "round": str(shown.round),
            "same_answer": same_answer(),
            "brief": state,
            **quoting(shown),
            **kind.prompt_slots(shown),
        },
    )
    told = fill(without_fields(parts.task, settled(kind, shown)), values)
    text, *rest = _HEAD.split(told, maxsplit=1)
    fields = {name: what for names, what in _FIELD.findall("".join(rest)) for name in re.findall(r"\w+", names)}
    return TaskInstructions(text.strip(), fields)
