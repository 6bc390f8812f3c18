"""Examples for other programs' users, run as these would run them."""
