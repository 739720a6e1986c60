"""There is one leader epoch; a client's epoch is compared with it."""

from __future__ import annotations

import pytest

from broker.errors import RequestError
from broker.storage.leader_epochs import NO_EPOCH, check_leader_epoch
from protocol.error_codes import ErrorCode


@pytest.mark.parametrize("epoch", [NO_EPOCH, 0])
def test_clients_that_know_the_epoch_or_none_are_served(epoch: int) -> None:
    check_leader_epoch(epoch)


@pytest.mark.parametrize(
    ("epoch", "code"),
    [(1, ErrorCode.UNKNOWN_LEADER_EPOCH), (-2, ErrorCode.FENCED_LEADER_EPOCH)],
)
def test_any_other_epoch_is_refused(epoch: int, code: ErrorCode) -> None:
    with pytest.raises(RequestError) as refused:
        check_leader_epoch(epoch)
    assert refused.value.code == code
