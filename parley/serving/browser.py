"""Opens a page in the browser of the person who runs a command."""

import contextlib
import os
import sys
import threading
import webbrowser


def open_browser(link: str) -> None:
    """Open a page where there is a browser with a window; nobody waits for it."""
    if sys.platform.startswith("linux") and not {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"} & os.environ.keys():
        return  # what is left are browsers that take the terminal

    def opens() -> None:
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(link)

    threading.Thread(target=opens, daemon=True, name="browser").start()
