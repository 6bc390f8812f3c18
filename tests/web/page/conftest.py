"""One browser for the tests of a module."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.web.page import site


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with site.browser() as found:
        yield found
