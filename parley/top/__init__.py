"""`parley top`: the figures of the dashboards in a terminal, read from the services themselves."""
