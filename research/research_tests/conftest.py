"""These are tests too: marked as tests/tiers.txt says, with the settings of the others."""

from tests.conftest import pytest_collection_modifyitems as pytest_collection_modifyitems
