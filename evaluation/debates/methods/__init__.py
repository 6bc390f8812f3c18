"""The methods that this project brings; importing it adds them."""

from evaluation.debates.methods import votes

__all__ = ["votes"]
