"""Results of sessions, counted from LOG (docs/operations/outcomes.md).

`session`, `fold` and `known` are pure: the same log gives the same totals. `counting` and `bus_state` touch the bus."""
