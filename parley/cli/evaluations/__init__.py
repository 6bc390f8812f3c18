"""Commands of the group `eval`, beside `eval routing`."""
