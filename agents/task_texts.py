"""The long texts of a task, laid beside a turn's posts, where a prompt can cut them."""

from collections.abc import Iterator

from parley.agents.context import Other, laid_beside
from parley.schemas.routing import Task


def task_texts(task: Task) -> Iterator[Other]:
    """The task's code and what was said before it."""
    for n, text in enumerate(task.code_snippets, 1):
        yield laid_beside(f"Code {n} of the task", text, "task")
    for m in task.prior_conversation:
        yield laid_beside("Earlier conversation", {"role": m.role, "text": m.text}, "task")
