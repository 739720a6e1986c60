"""Groups of a restored database go on with the record that they would have read next."""

from __future__ import annotations

import pytest

from console.errors import CommandError
from console.restoring import group_copies
from console.restoring.group_copies import GroupCopies, Place, Progress, progress_of
from tests.broker.gateway import Gateway
from tests.broker.group_reads import configure, member
from tests.broker.groups import committing
from tests.broker.kit import batch, create, send
from tests.console.restoring.servers import HERE, THERE, sessions, two_servers


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Gateway]:
    monkeypatch.setattr(group_copies, "PAUSE_S", 0)
    gateways = two_servers(monkeypatch)
    for gateway in gateways.values():
        client = gateway.client()
        for name in ("t", "versions", "elsewhere"):
            create(client, name, 2)
            for _ in range(9):
                send(client, name, batch(b"x"))
    return gateways


def commit(gateway: Gateway, group_id: str, *offsets: tuple[str, int, int], metadata: str = "") -> None:
    answer = gateway.client().call(committing(group_id, *offsets, metadata=metadata), 8)
    assert not [part.error_code for topic in answer.topics for part in topic.partitions if part.error_code]


def halved(place: Place, offset: int) -> int | None:
    return None if place[0] == "versions" else offset // 2


def copied() -> GroupCopies:
    here, there = sessions()
    copies = GroupCopies(here, there, halved)
    copies.make({"t", "versions"})
    return copies


def test_progress_is_that_of_the_copys_offsets_with_metadata_and_settings(
    servers: dict[str, Gateway],
) -> None:
    member(servers[HERE], "t", group_id="other")
    commit(servers[HERE], "g", ("t", 0, 8), ("t", 1, 0), ("elsewhere", 0, 5), metadata="note")
    configure(servers[HERE].client(), "g", consume_excluded="true")
    copies = copied()
    assert (copies.made, copies.left_out) == (["g"], {})
    _, there = sessions()
    assert progress_of(there, "g") == {("t", 0): Progress(4, "note"), ("t", 1): Progress(0, "note")}
    assert servers[THERE].broker.catalogue.group_configs["g"] == {"kawal.consume.excluded": "true"}


def test_versions_have_no_equivalent_and_are_named(servers: dict[str, Gateway]) -> None:
    commit(servers[HERE], "both", ("t", 0, 2), ("versions", 0, 2))
    commit(servers[HERE], "only", ("versions", 1, 2))
    commit(servers[HERE], "none", ("elsewhere", 1, 2))
    copies = copied()
    assert copies.made == ["both"]
    assert copies.left_out == dict.fromkeys(
        ("both", "only"), "its offsets in versions are versions of the log"
    )


def test_a_group_that_is_in_use_on_the_target_is_left_alone(servers: dict[str, Gateway]) -> None:
    commit(servers[HERE], "g", ("t", 0, 8))
    member(servers[THERE], "t", group_id="g")
    copies = copied()
    assert (copies.made, copies.left_out) == ([], {"g": "it has members on the target"})
    _, there = sessions()
    assert progress_of(there, "g") == {}


def test_progress_that_is_not_what_was_committed_is_reported(
    servers: dict[str, Gateway], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(servers[HERE], "g", ("t", 0, 8))
    here, there = sessions()
    copies = GroupCopies(here, there, halved)
    monkeypatch.setattr(copies, "_commit", lambda group_id, wanted: True)
    with pytest.raises(CommandError, match="'g' should go on at 4 of t-0, and has no progress there"):
        copies.make({"t"})
