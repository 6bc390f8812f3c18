"""The doors for programs: what may be asked for by name, what the operator says of them, and the tools over stdio."""
