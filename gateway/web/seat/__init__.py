"""A seat that a person takes on the page: the form, the person behind it, and the seats that are taken."""
