"""The place of each node of a cluster, or worker of a directory, in its object store.

    <store>/                 node 0 or worker 0, and a server that is alone
    <store>/node-<i>/        node i or worker i: a root of its own, with the same layout below it

A node has one copy, one journal and one epoch, so a standby takes over one node and no other.  All nodes have
the same cluster id.

Workers share a data directory, and each copies the logs that it leads, worker 0 the catalogue, too.  Which
logs these are follows from the number of workers, so the copies belong together, and to that number: all of
them make up the directory.
"""

from __future__ import annotations

from typing import Final, NamedTuple

NODE_PREFIX: Final = "node-"


class Share(NamedTuple):
    """The logs of a data directory that one process copies: those of worker `number` of so many `workers`."""

    number: int = 0
    workers: int = 1


ALL: Final = Share()
"""All logs of the directory."""


def node_folder(number: int) -> str:
    """Return the folder of a node or worker below the store's root, "" for the first one."""
    return f"{NODE_PREFIX}{number}" if number else ""


def workers_text(count: int) -> str:
    """Return a number of workers in words."""
    return "1 worker" if count == 1 else f"{count} workers"
