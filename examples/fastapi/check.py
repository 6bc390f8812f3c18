"""Run the application by a real server, and use it as a browser and a program would."""

import http.cookiejar
import json
import threading
import time
import urllib.request

import uvicorn

from examples.fastapi.application import app


def main() -> None:
    """Raises AssertionError where it does not work."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.1)
        assert thread.is_alive(), "it did not start"
    url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    browser = urllib.request.build_opener(cookies)
    try:
        answer = json.load(browser.open(f"{url}/ask", timeout=120))
        print(answer)
        assert "1869" in answer["answer"]
        page = browser.open(f"{url}/", timeout=30)
        assert page.url == f"{url}/parley/" and 'src="/parley/static/js/app.js"' in page.read().decode()
        listed = json.load(browser.open(f"{url}/parley/api/sessions", timeout=30))
        assert listed["sessions"][0]["session"] == answer["session"].rpartition("/")[2]
    finally:
        server.should_exit = True
        thread.join(30)
    print("the page is mounted, and shows the session")


if __name__ == "__main__":
    main()
