from tests.engine.conftest import bare, stack

__all__ = ["bare", "stack"]
