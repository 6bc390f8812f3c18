"""Debates made by hand."""

from parley_research.loaders import Debate, Round

NAMES = ("A", "B", "C")


def debate(*rounds: str, gold: str = "A", words: int = 10) -> Debate:
    """Each round is the answers that stand after it, a letter an agent, `-` for none; each says so many words."""
    standing = [tuple(None if a == "-" else NAMES.index(a) for a in answers) for answers in rounds]
    agents = tuple(f"agent {i}" for i in range(len(rounds[0])))
    return Debate(
        id="by hand",
        question="by hand",
        group="hand",
        task="hand",
        gold=NAMES.index(gold),
        outcomes=NAMES,
        agents=agents,
        rounds=tuple(Round(answers, (words,) * len(agents)) for answers in standing),
    )
