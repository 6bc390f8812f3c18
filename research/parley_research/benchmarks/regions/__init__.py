"""Two regions joined by gateways, on one machine, with a simulated delay: `python -m
parley_research.benchmarks.regions`."""
