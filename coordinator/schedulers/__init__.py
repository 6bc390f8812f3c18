"""MACI's controller: its dials, the learned schedule of the dials, and the rule that decides when a debate ends."""
