"""A copy of `parley metrics` that ends itself at the points that the environment names (tests.support.crash).

python -m tests.outcomes.killed URL CREDENTIALS"""

import sys
from pathlib import Path

from parley.bus.accounts import load_credentials
from parley.stack import services
from tests.outcomes.played import TENANT
from tests.support.crash import checkpoint


def main(url: str, credentials: str) -> int:
    """Serve until a signal, or until the process ends itself."""
    make = services.counting(tenant=TENANT, budget_usd=0.0, checkpoint=checkpoint)
    return services.run("metrics", services.ServiceTask(make, load_credentials(Path(credentials))), url=url)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
