"""Which installed packages a test takes parts of."""

import os

from parley.schemas.registry import ALLOWED, everything, normal


def allow(*packages: str) -> None:
    """Allow packages in this process and in those that it starts, beside those that are allowed already.

    Raises
    ------
    ValueError
        A package is not installed, or something that it brings has a fault: with the words of `parley doctor`.
    """
    before = os.environ.get(ALLOWED, "")
    os.environ[ALLOWED] = ",".join(filter(None, (before, *packages)))
    wanted = {normal(package) for package in packages}
    for part in everything():
        if part.fault and normal(part.package.partition(" ")[0]) in wanted:
            raise ValueError(f"{part.group} {part.name} of {part.package} ({part.value}): {part.fault}")
