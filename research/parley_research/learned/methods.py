"""Everything that is learned, as methods of `parley eval debates`; importing it adds them."""

from parley_research.learned import agreement, policies, records, routed, stopping

__all__ = ["agreement", "policies", "records", "routed", "stopping"]
