"""Sessions whose replies a strong model wrote, one file each. `parley demo` plays them."""
