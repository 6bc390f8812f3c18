"""`python -m tests.docs [--write] [PAGE]...`: run what the pages say; `--write` puts into them what samples print.

The exit status is 1 where a command ends otherwise than its page says, or a sample is not what is printed.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.docs.blocks import ROOT, pages
from tests.docs.running import Failed, Page


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(description="Run the commands of README and docs.")
    parser.add_argument("--write", action="store_true", help="Write what samples print now into the pages.")
    parser.add_argument("pages", nargs="*", help="Of these pages; all of them without one.")
    given = parser.parse_args()
    bad = 0
    for page in given.pages or pages():
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="parley-docs-") as folder, Page(page, Path(folder), ROOT) as running:
            try:
                running.run()
            except Failed as error:
                print(error, file=sys.stderr)
                bad += 1
            if given.write:
                running.write()
            elif running.fresh:
                print(f"{page}: other output at lines {sorted(running.fresh)}; --write puts it there", file=sys.stderr)
                bad += 1
            print(f"{page}: {running.ran} commands, {time.monotonic() - started:.1f} s", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
