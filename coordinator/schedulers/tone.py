"""The instructions to a debater for each level of contentiousness (table 15, whose five levels these are).

Tone, what to dwell on, how to speak: in that order, addressed to the debater.
"""

import math

LEVELS: dict[float, str] = {
    0.9: "Confront. Challenge every claim that you do not share, head on, and grant nothing that you need not. "
    "Dwell on what can go wrong, on what the other answers overlook, and on whom an error would hurt. Speak in flat "
    "statements: this does not hold, this risk cannot be taken.",
    0.7: "Stay critical, and open to proof. Accept a point of the other side only under conditions that you name, and "
    "keep your remaining doubts on the table. Speak in qualified objections: this leaves a serious doubt, this would "
    "need stronger evidence.",
    0.5: "Be even-handed. Set out what speaks for and what speaks against each answer with the same care, "
    "and look for the finding that would tell them apart. Speak neutrally: on one side, on the other side, the "
    "evidence points to.",
    0.3: "Lean towards agreement, and keep checking. Support what has held up, with its limits and what is still to be "
    "verified. Speak well of it with care: this holds as long as, this is likely provided that.",
    0.1: "Work together towards one answer. Keep to the evidence that decides, bring what both sides have found into "
    "one line of reasoning, and say what comes next. Speak briefly and in summary: we agree that, what settles it is.",
}
"""Level of contentiousness -> what it asks for."""


QUIET = (
    "The debaters hold nearly the same, so there is no disagreement to be settled. Check whether it rests on what the "
    "passages say: bring what bears it out, and what it still lacks. Raise a doubt only where you hold it yourself."
)
"""What stands in the place of all levels where there is no disagreement of which they could speak."""


def tone(cl: float) -> str:
    """The words of the nearest of the five levels; half way between two, of the upper one.

    Parameters
    ----------
    cl
        Contentiousness, 0 to 1.

    Raises
    ------
    ValueError
        It is not a number from 0 to 1.

    Examples
    --------
    >>> tone(0.8) == LEVELS[0.9] and tone(0.0) == LEVELS[0.1]
    True
    """
    if not 0.0 <= cl <= 1.0:
        raise ValueError(f"contentiousness: got {cl}, allowed is 0 to 1")
    # Rounded, since 0.9 - 0.2 is a little above 0.7, and half way may be a little below it.
    return LEVELS[min(LEVELS, key=lambda level: (round(math.fabs(level - cl), 9), -level))]
