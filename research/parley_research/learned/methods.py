"""Everything that is learned, as methods of `parley eval debates`; importing it adds them."""

from parley_research.learned import agreement, records, stopping

__all__ = ["agreement", "records", "stopping"]
