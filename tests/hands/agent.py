"""A coding agent of the smallest kind: it asks its model again and again, and runs what that answers as Python, until
it answers DONE. It takes any folder, and may do anything.

    python agent.py [PROMPT]        in the environment MODEL_URL, MODEL_TOKEN, DIALECT (chat, messages, responses)
"""

import io
import json
import os
import sys
import traceback
import urllib.error
import urllib.request
from contextlib import redirect_stdout

PATHS = {"chat": "chat/completions", "messages": "messages", "responses": "responses"}


def ask(said: list[dict[str, str]]) -> str:
    """What the model says next."""
    dialect = os.environ.get("DIALECT", "chat")
    body = {"model": "another", "max_tokens": 4_000}
    body |= {"input": said} if dialect == "responses" else {"messages": said}
    token = os.environ["MODEL_TOKEN"]
    headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
    url = f"{os.environ['MODEL_URL']}/v1/{PATHS[dialect]}"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        value = json.loads(answer.read())
    if dialect == "chat":
        return str(value["choices"][0]["message"]["content"])
    return str(value["content"][0]["text"] if dialect == "messages" else value["output"][0]["content"][0]["text"])


def main() -> int:
    """Work until the model says DONE."""
    prompt = sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read()
    said = [{"role": "user", "content": prompt}]
    while True:
        try:
            code = ask(said)
        except urllib.error.HTTPError as error:
            print(json.dumps({"type": "result", "result": f"HTTP {error.code}: {error.read().decode()}"}))
            return 3
        if code.startswith("DONE"):
            print(json.dumps({"type": "result", "result": code.removeprefix("DONE").strip()}))
            return 0
        out = io.StringIO()
        with redirect_stdout(out):
            try:
                exec(code, {})
            except BaseException:
                traceback.print_exc(file=out)
        said += [{"role": "assistant", "content": code}, {"role": "user", "content": out.getvalue()[-4_000:] or "-"}]


if __name__ == "__main__":
    sys.exit(main())
