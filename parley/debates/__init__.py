"""The work of `parley eval debates`, after its arguments are read."""
