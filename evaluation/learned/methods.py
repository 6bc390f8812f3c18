"""Everything that is learned, as methods of `parley eval debates`; importing it adds them."""

from evaluation.learned import agreement, records, routed, stopping

__all__ = ["agreement", "records", "routed", "stopping"]
