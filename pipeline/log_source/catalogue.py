"""Which log of a data directory has which partition of a topic.

This is the only file of the pipeline that knows anything of the gateway's: its catalogue.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from broker.catalogue.catalogue_records import decode_record
from broker.catalogue.catalogue_replay import replay_all
from broker.catalogue.databases import DEFAULT_DATABASE
from broker.catalogue.nodes import node_of_vnode
from pipeline.errors import SourceError
from wal.backup_catalogue import catalogue_records
from wal.disk import Disk
from wal.remote.places import node_folder
from wal.store import META, vnode_path
from wal.store_marker import MARKER, STORE_FORMAT, marker_format


class Home(NamedTuple):
    """The log in which a partition lies for its whole life."""

    topic_id: str
    partition: int
    directory: str
    """Of the log."""
    vnode_id: int
    stream_id: int
    node: int = 0
    """The number of the node that has the log, or of the worker in whose copy it is."""


def folder_of(home: Home, workers: int) -> str:
    """Return the folder of the object store that has what left the disk of a directory of so many workers."""
    return node_folder(node_of_vnode(home.vnode_id, workers))


def check_directory(disk: Disk, data: str) -> None:
    """Refuse what is no data directory, or one of an older format.  Raises: SourceError, DiskError."""
    if not disk.exists(f"{data}/{MARKER}"):
        raise SourceError(f"{data}: not a data directory of Kawal: there is no {MARKER} in it")
    version = marker_format(disk, f"{data}/{MARKER}")
    if version < STORE_FORMAT:
        raise SourceError(
            f"{data}: has data format {version}, and this version of kawal reads {STORE_FORMAT}: start the "
            "gateway on it once, or use another version"
        )


def homes_of(disk: Disk, data: str, topics: Iterable[str], *, nodes: int = 1) -> dict[str, list[Home]]:
    """Return the partitions of topics, by the catalogue in `data`, that of so many nodes or workers.

    Raises: SourceError, DiskError.
    """
    try:
        catalogue = replay_all(map(decode_record, catalogue_records(disk, f"{data}/{META}")))
    except msgspec.MsgspecError as error:
        raise SourceError(
            f"{data}: the catalogue was written by a later version of kawal: {error}"
        ) from error
    found: dict[str, list[Home]] = {}
    for name in topics:
        topic = catalogue.by_name.get(name)
        if topic is None:
            raise SourceError(f"{data}: there is no topic {name!r}")
        if topic.view is not None:
            raise SourceError(
                f"topic {name!r} is a view over {topic.view.source!r}, which has no records of its own: read "
                "its source, or read the view from the gateway (format 'kafka')"
            )
        database = catalogue.databases.get(topic.database or DEFAULT_DATABASE)
        if database is None:
            raise SourceError(f"{data}: topic {name!r} is of a database {topic.database!r} that is not known")
        found[name] = [
            Home(
                str(topic.topic_id),
                index,
                vnode_path(data, database.directory, topic.vnode_index(index)),
                topic.vnode_index(index),
                topic.stream_id(index),
                node_of_vnode(topic.vnode_index(index), nodes),
            )
            for index in range(topic.planned_count)
        ]
    return found
