"""The methods that this project brings; importing it adds them."""

from parley_research.debates.methods import bounds, consensus, controlled, critic, judge, sampling, stops, votes

__all__ = ["bounds", "consensus", "controlled", "critic", "judge", "sampling", "stops", "votes"]
