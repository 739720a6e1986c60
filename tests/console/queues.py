"""A broker in memory with a busy share group, which the console's requests reach without a socket."""

from __future__ import annotations

from typing import Any

import pytest

from console import fetcher
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, REJECT, RELEASE, Member
from tests.console.bench import GatewayLink
from tests.console.gateway import connect


class ClosableLink(GatewayLink):
    """A link to a broker in memory."""

    def close(self) -> None: ...


class Busy(Jobs):
    """Ten jobs: m1 has 0 to 3; 4 is accepted, 5 rejected; 6 and 7 were given back; 8 and 9 come next."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(partitions=2)
        gateway = self.gateway

        def ask(_bootstrap: str, request: Any, version: int) -> Any:
            return gateway.client().call(request, version)

        connect(monkeypatch)
        monkeypatch.setattr("console.admin.ask_server", ask)
        linked = type("Linked", (ClosableLink,), {"gateway": gateway})
        monkeypatch.setattr(fetcher, "Link", lambda address, _name: linked(address))
        self.worker: Member = self.member("m1")
        self.produce(*(b"%d" % number for number in range(8)))
        self.worker.fetch(self.place)
        self.worker.acknowledge(self.place, (4, 7, [ACCEPT, REJECT, RELEASE, RELEASE]))
        self.produce(b"8", b"9")
        self.produce(b"other", index=1)
