"""Posts of several channels in the order in which they were said.

Each channel comes in order, but not one beside another: a stop decision on `control` may be heard before what was said
on `public` ahead of it. A post's number in its session (`n`) says whether something before it is still to come.
"""

import asyncio
from collections.abc import AsyncIterator

from parley.schemas.post import Post

PATIENCE_S = 0.3
"""So long a gap is waited for: what is missing may have been said where we do not read."""


async def in_order(
    posts: AsyncIterator[Post], patience_s: float = PATIENCE_S, expected: int = 0
) -> AsyncIterator[Post]:
    """The same posts by their numbers, from `expected` on; a post behind a gap is held back for `patience_s` at most,
    the last one's end releases all. Raises what `posts` raises, after what was heard."""
    held: list[Post] = []
    loop = asyncio.get_running_loop()
    until = 0.0
    coming = asyncio.ensure_future(_next(posts))
    try:
        while True:
            timeout = max(0.0, until - loop.time()) if held else None
            done, _ = await asyncio.wait((coming,), timeout=timeout)
            post = coming.result() if done else None
            over = bool(done) and post is None
            if post is not None:
                until = until if held else loop.time() + patience_s
                held = sorted((*held, post), key=lambda p: p.n)
                coming = asyncio.ensure_future(_next(posts))
            while held and (held[0].n <= expected or over or loop.time() >= until):
                first = held.pop(0)
                expected = max(expected, first.n + 1)
                yield first
            if over:
                return
    finally:
        coming.cancel()
        await asyncio.gather(coming, return_exceptions=True)


async def _next(posts: AsyncIterator[Post]) -> Post | None:
    """The next post; None: there is none."""
    return await anext(posts, None)
