"""Documents that a worker holds: fetched once by content hash from a moderator, cached over sessions."""

from collections import OrderedDict

from parley.agents.moderator_link import ModeratorLink
from parley.schemas.session import Document
from parley.schemas.turn import Turn, Work

_MOST_CHARACTERS = 32_000_000


class DocumentCache:
    """The least recently used go first, beyond 32 million characters."""

    def __init__(self, link: ModeratorLink) -> None:
        self._link = link
        self._documents: OrderedDict[str, Document] = OrderedDict()
        self._size = 0

    async def of(self, work: Work, turn: Turn) -> list[Document]:
        """The documents of a turn, in its order; those that no moderator has are left out. Raises BusError: no
        moderator answered."""
        while True:
            missing = tuple(d.id for d in turn.documents if d.id not in self._documents)
            if not missing or not await self._fetch(work, turn, missing):
                break
        documents = []
        for ref in turn.documents:
            if ref.id in self._documents:
                self._documents.move_to_end(ref.id)
                documents.append(self._documents[ref.id])
        self._shrink()
        return documents

    async def _fetch(self, work: Work, turn: Turn, ids: tuple[str, ...]) -> bool:
        """Ask once. True: something came."""
        documents = (await self._link.documents(work, turn, ids)).documents
        for document in documents:
            if document.id not in self._documents:
                self._documents[document.id] = document
                self._size += len(document.text)
        return bool(documents)

    def _shrink(self) -> None:
        while self._size > _MOST_CHARACTERS and len(self._documents) > 1:
            _, document = self._documents.popitem(last=False)
            self._size -= len(document.text)
