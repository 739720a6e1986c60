"""The topics from which a member of a share group may not read, decided once in a request.

Kafka decides when the request arrives: a fetch that waits is answered by the rules of that time. Partitions
that its session gets meanwhile are decided on when they are read.
"""

from __future__ import annotations

from uuid import UUID

from broker.catalogue.topics import Catalogue
from broker.security.authorized_operations import Operation
from broker.security.rights import Rights


class ShareDenials:
    """The decisions of one request."""

    __slots__ = ("_catalogue", "_decided", "rights")

    def __init__(self, rights: Rights | None, catalogue: Catalogue) -> None:
        """`rights` is None for a client that may do everything."""
        self.rights = rights
        self._catalogue = catalogue
        self._decided: dict[UUID, bool] = {}

    def denies(self, topic_id: UUID) -> bool:
        """Whether the client may not read this topic; of one that does not exist the reader will tell."""
        if self.rights is None:
            return False
        denied = self._decided.get(topic_id)
        if denied is None:
            topic = self._catalogue.find_id(topic_id)
            if topic is None:
                return False
            denied = self._decided[topic_id] = not self.rights.may_topic(Operation.READ, topic.name)
        return denied
