"""Writes what is made from the tables of observability/watching: rules, dashboards, pages. Needs the `dev` extra."""
