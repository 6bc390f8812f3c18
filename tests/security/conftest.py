"""Tests of attacks on the engine share its fixtures."""

from tests.engine.conftest import bare

__all__ = ["bare"]
