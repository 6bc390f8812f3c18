"""Messages of each protocol, a module or a package each."""
