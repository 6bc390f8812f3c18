"""`parley route` and `parley eval routing`."""
