"""Imported as parley.coordinator and under no other name, so that no class exists twice."""

if "." not in __name__:
    raise ImportError(f"import it as parley.{__name__}")
