"""The doors that the gateway opens, in the order in which their routes are tried."""

from gateway.app import Door
from gateway.web.door import web


def doors() -> tuple[Door, ...]:
    """All of them."""
    return (web(),)
