"""Tests of counting share the fixtures of the engine's."""

from tests.engine.conftest import bare, stack

__all__ = ["bare", "stack"]
