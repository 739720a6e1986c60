"""The place of each node of a cluster in its object store.

    <store>/                 node 0, and a server that is alone
    <store>/node-<i>/        node i: a root of its own, with the same layout below it

A node has one copy, one journal and one epoch, so a standby takes over one node and no other.  All nodes have
the same cluster id.
"""

from __future__ import annotations

from typing import Final

NODE_PREFIX: Final = "node-"


def node_folder(number: int) -> str:
    """Return the folder of a node below the store's root, "" for the first one."""
    return f"{NODE_PREFIX}{number}" if number else ""
