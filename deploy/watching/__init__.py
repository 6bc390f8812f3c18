"""Writes what is made from the tables of deploy/watching: rules, dashboards, pages. Needs the `dev` extra."""
