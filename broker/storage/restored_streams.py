"""The streams in restored logs that other workers lead, which the catalogue may not know.

Each worker's copy has a moment of its own, so a log may have streams of topics that are younger than the
catalogue.  The worker that leads it tells the controller which ids are used; before that, at the first start
after a restore, the controller looks itself: a new topic would else show the records of a lost one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from wal.errors import WalError
from wal.offline_log import open_offline
from wal.segment import ANOTHER_HISTORY
from wal.store import Store

logger = logging.getLogger("kawal.start")


def first_free_stream(store: Store, leads: Callable[[int], bool]) -> int:
    """Return an id above those of all streams in such logs, 0 if there is none.

    `leads` says of a vnode's number whether this worker leads it.
    No other worker has a log open yet: each waits until the controller has started.  A log that is damaged is
    passed over: its worker tells of it.  Raises: DiskError.
    """
    found = 0
    for database, index in store.vnodes():
        directory = store.vnode_path(database, index)
        if leads(index) or not store.disk.exists(f"{directory}/{ANOTHER_HISTORY}"):
            continue
        try:
            log = open_offline(store.disk, directory, vnode_id=index, is_running=False)
        except WalError as error:
            logger.warning("%s: which streams it has is not known yet: %s", directory, error)
            continue
        found = max(found, 1 + max(log.streams(), default=-1))
    return found
