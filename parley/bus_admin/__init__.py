"""`parley bus` and `parley experts`: users of a bus, checked, revoked, enrolled."""
