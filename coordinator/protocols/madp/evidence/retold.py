"""madp: what a task's result says of its reviews, against the verdicts that were counted."""

import re
from collections.abc import Mapping

from parley.coordinator.signals.retold import all_of_one_mind, share_told
from parley.schemas.protocols.madp.work import Work

_REVIEWERS = ("reviewer", "gutachter", "relecteur")


def departs(work: Work, verdicts: Mapping[str, str], task: str) -> str:
    """What work says of its reviews otherwise than it was counted, with what was counted; empty: nothing that is plain.
    A task that asks about reviewers has others in mind, and nothing is compared."""
    if re.search(rf"\b(?:{'|'.join(_REVIEWERS)})", task.lower()):
        return ""
    text = f"{work.summary}\n{work.output}"
    approved = sum(x == "approved" for x in verdicts.values())
    reviewers = "reviewer" if len(verdicts) == 1 else "reviewers"
    counted = f"{approved} of {len(verdicts)} {reviewers} approved it" if verdicts else "nobody has reviewed it"
    if (not verdicts or approved < len(verdicts)) and all_of_one_mind(text, _REVIEWERS):
        return f"it says that all reviewers approved; counted was: {counted}"
    told = share_told(text, _REVIEWERS)
    if told is not None and told != (approved, len(verdicts)):
        return f"it says that {told[0]} of {told[1]} reviewers approved; counted was: {counted}"
    return ""
