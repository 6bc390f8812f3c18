"""The data sets that this project can read; importing it adds them."""

from evaluation.debates.sets import answered

__all__ = ["answered"]
