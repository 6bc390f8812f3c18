"""The nats-py client, loaded without what Parley does not use of it.

nats-py imports aiohttp where it finds it, for WebSockets, which the bus does not speak: 0.1 s of every process that
starts. So it is kept from finding it. Everything of ours imports nats-py's names from here.
"""

import sys

_ABSENT: dict[str, None] = {name: None for name in ("aiohttp",) if not {name, "nats"} & sys.modules.keys()}
sys.modules.update(_ABSENT)  # type: ignore[arg-type]
try:
    from nats import errors
    from nats.aio import client
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription
finally:
    for _name in _ABSENT:
        del sys.modules[_name]

__all__ = ["Msg", "Subscription", "client", "errors"]
