"""Leader epochs: one node leads every partition for life, so there is one epoch, which clients must know.

Source: KIP-320.
"""

from __future__ import annotations

from typing import Final

from broker.errors import RequestError
from broker.storage.partition import LEADER_EPOCH
from protocol.error_codes import ErrorCode

NO_EPOCH: Final = -1
"""The epoch of a client that knows none."""


def check_leader_epoch(epoch: int) -> None:
    """Compare the client's leader epoch with ours.

    Raises: RequestError, with UNKNOWN_LEADER_EPOCH above ours and FENCED_LEADER_EPOCH below it.
    """
    if epoch not in (NO_EPOCH, LEADER_EPOCH):
        later = epoch > LEADER_EPOCH
        raise RequestError(ErrorCode.UNKNOWN_LEADER_EPOCH if later else ErrorCode.FENCED_LEADER_EPOCH)
