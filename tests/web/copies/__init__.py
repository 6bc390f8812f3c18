"""Several copies of the gateway: one person, served by all of them."""
