"""What a session came to, for programs: words that never call agreement what is none, and the same as JSON values."""

from collections.abc import Iterator
from typing import Any

import msgspec

from parley.client.protocols import face_of
from parley.client.rendering import transcript
from parley.client.rendering.transcript import Teller, brief_result
from parley.client.show.presenter import Presenter
from parley.client.show.words import WIDE, bare
from parley.client.text import clean, hung
from parley.client.untrusted import shaped
from parley.schemas.post import Post
from parley.schemas.result import Result
from parley.schemas.stops import ONE_SOURCE, STOPS

_OTHERWISE = {"failed": "Failed", "cancelled": "Cancelled"}
NOT_AGREED = "Without agreement"
"""How the words begin of a session that ended, and did not converge."""


def presenter_of(result: Result) -> Presenter:
    """What shows a result whose posts nobody looked at."""
    return face_of(result.protocol).present()


def answer_of(result: Result) -> str:
    """What it came to in one sentence; empty: nothing."""
    presenter = presenter_of(result)
    return clean(shaped(lambda: [presenter.answer(result)], lambda: [Presenter().answer(result)])[0])


def stop_words(result: Result) -> str:
    """Why it ended, on one line."""
    return clean(transcript.stop_words(result))


def dissent(result: Result) -> str:
    """Who holds something else in the end; empty: nobody says."""
    presenter = presenter_of(result)
    return shaped(lambda: [presenter.dissent(result)], lambda: [""])[0]


def verdict(result: Result) -> str:
    """The words. The first line is the answer where they converged, or one reader found it, and else says that they did
    not converge, and why it ended. What it rests on, who dissents and what was used follow."""
    lines = [hung(text) for _, text in brief_result(result)]
    answer = answer_of(result)
    if answer and (result.stop.converged or result.stop.reason == ONE_SOURCE):
        answer = hung(answer)
        return "\n".join([answer, "", *_behind(lines, answer)])
    head = _OTHERWISE.get(result.status, NOT_AGREED)
    return "\n".join([f"{head}: {stop_words(result)}.", "", *lines])


def _behind(lines: list[str], answer: str) -> list[str]:
    """Without the line that is the answer, where it is the first."""
    return lines[1:] if lines and lines[0].endswith(answer) else lines


def figures(result: Result) -> dict[str, Any]:
    """The same as JSON values: status, whether they agree, the certificate, dissent, usage."""
    row = STOPS.get(result.stop.reason)
    return {
        "session": result.session,
        "protocol": result.protocol,
        "status": result.status,
        "agreed": result.stop.converged,
        "answer": answer_of(result),
        "words": row.in_words(result.stop.converged) if row else "",
        "stop": msgspec.to_builtins(result.stop),
        "dissent": dissent(result),
        "rounds": len(result.rounds),
        "usage": msgspec.to_builtins(result.usage),
        "duration_s": result.duration_s,
    }


class PostTexts:
    """Posts one after another, each as a text."""

    def __init__(self, presenter: Presenter) -> None:
        self.presenter = presenter
        self._teller = Teller(presenter)

    def text(self, post: Post, width: int = WIDE) -> str:
        """The next post; empty where it says nothing to a reader."""
        return "\n".join(_lines(self._teller, post, width))


def _lines(teller: Teller, post: Post, width: int) -> Iterator[str]:
    return (text for text in bare(teller.lines(post, width)) if text.strip())
