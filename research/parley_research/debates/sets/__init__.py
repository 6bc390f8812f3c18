"""The data sets that this project can read; importing it adds them."""

from parley_research.debates.sets import answered, judged, panels, samples

__all__ = ["answered", "judged", "panels", "samples"]
