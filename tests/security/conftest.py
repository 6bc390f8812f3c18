"""Tests of attacks on the engine share its fixtures."""

from tests.engine.conftest import answers, bare

__all__ = ["answers", "bare"]
