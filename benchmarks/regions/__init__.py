"""Two regions joined by gateways, on one machine, with a simulated delay: `python -m benchmarks.regions`."""
