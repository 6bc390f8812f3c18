"""Writes what is made from the tables of deploy/monitoring: rules, dashboards, pages. Needs the `dev` extra."""
