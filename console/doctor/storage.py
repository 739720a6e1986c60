"""The data directory and the disk under it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from broker.config.config import Config
from broker.config.node_keys import addresses_of
from broker.storage.node_directory import OtherNode
from broker.storage.node_directory import check_directory as check_directory_of
from console.doctor.facts import Facts
from console.doctor.finding import Finding, ok, problem, warning
from wal.disk import Disk, DiskError
from wal.errors import StoreError
from wal.store import LOCK, vnodes_in
from wal.store_marker import MARKER, STORE_FORMAT, StoreIdentity, marker_format, read_marker

VOLATILE = frozenset({"tmpfs", "ramfs", "devtmpfs"})
DISTANT = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "fuse.sshfs", "ceph", "glusterfs"})
STACKED = frozenset({"overlay", "aufs"})

SYNC_SLOW_SECONDS = 0.02
"""Every producer feels acknowledgements slower than this."""
SYNC_IMPLAUSIBLE_SECONDS = 0.000_02
"""No device that keeps data answers so fast: some layer says 'done' before it is."""

FREE_SHARE_MIN = 0.1
FREE_INODES_MIN = 10_000


def check_directory(facts: Facts, disk: Disk, config: Config) -> Iterator[Finding]:
    """Check that the data directory is ours and in a format we read; tell which server has it open."""
    path = config.log_dirs
    if not disk.exists(path):
        parent = existing_parent(path)
        if not os.access(parent, os.W_OK | os.X_OK):
            advice = "choose another with --data, or change its owner"
            yield problem("directory", f"{path} does not exist, and {parent} is not writable", advice)
        else:
            yield ok("directory", f"{path} does not exist yet and will be made")
        return
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        yield problem(
            "directory",
            f"user {facts.user_id} cannot read and write {path}",
            "run kawal as its owner, or change the owner with chown -R",
        )
        return
    yield from _check_content(facts, disk, config)


def _check_node(path: str, identity: StoreIdentity, config: Config) -> Iterator[Finding]:
    """Check that the directory is that of the node which the configuration describes."""
    count = len(addresses_of(config.kawal_cluster_nodes)) or 1
    try:
        check_directory_of(path, identity, number=config.kawal_cluster_node or 0, count=count)
    except OtherNode as error:
        advice = "a server with this configuration refuses it: give --config and --node of that server"
        yield problem("directory", str(error), advice)


def _check_content(facts: Facts, disk: Disk, config: Config) -> Iterator[Finding]:
    path = config.log_dirs
    names = [name for name in disk.list(path) if name != LOCK]
    if not names:
        yield ok("directory", f"{path} is empty and will be used")
        return
    if MARKER not in names:
        yield problem(
            "directory",
            f"{path} is not empty and has no {MARKER}",
            "it is not a data directory: choose another with --data; if it was one, restore the file",
        )
        return
    try:
        identity = read_marker(disk, f"{path}/{MARKER}")
        version = marker_format(disk, f"{path}/{MARKER}")
        logs = len(list(vnodes_in(disk, path)))
    except (StoreError, DiskError) as error:
        yield problem("directory", str(error), "do not start a server on it until this is repaired")
        return
    owner = f"cluster {identity.cluster_id}, node {identity.node_id}"
    if identity.nodes > 1:
        owner += f" (node {identity.node} of {identity.nodes} in kawal.cluster.nodes)"
    yield ok("directory", f"{path} has format {version}, {owner}, {logs} logs")
    yield from _check_node(path, identity, config)
    if version < STORE_FORMAT:
        text = f"the first start converts it to format {STORE_FORMAT}, which older versions refuse"
        yield warning("directory", text, "make a backup first, if you may want to go back")
    holder = facts.lock_holder(f"{path}/{LOCK}")
    if holder is not None:
        yield ok("directory", f"a server has it open, process {holder or '(unknown)'}")


def existing_parent(path: str) -> str:
    """Return the nearest existing directory above a path."""
    parent = os.path.abspath(path)
    while not os.path.isdir(parent):
        parent = os.path.dirname(parent)
    return parent


def check_space(facts: Facts, config: Config) -> Iterator[Finding]:
    """Check that there is room for records for a while."""
    space = facts.space(existing_parent(config.log_dirs))
    text = f"{space.free_bytes >> 20} MiB of {space.total_bytes >> 20} MiB are free"
    advice = "free some space, use a larger disk, or retain records for a shorter time (log.retention.*)"
    if space.free_bytes < config.kawal_min_free_bytes:
        least = f"produces are refused below {config.kawal_min_free_bytes >> 20} MiB (kawal.min.free.bytes)"
        yield problem("space", f"{text}, and {least}", advice)
    elif space.free_bytes < FREE_SHARE_MIN * space.total_bytes:
        yield warning("space", text, advice)
    elif 0 < space.free_inodes < FREE_INODES_MIN:
        yield warning("space", f"only {space.free_inodes} more files can be made", "use a larger disk")
    else:
        yield ok("space", text)


def check_disk(facts: Facts, config: Config) -> Iterator[Finding]:
    """Check that what the disk reports as synced is synced, and that syncing is fast."""
    directory = existing_parent(config.log_dirs)
    system = facts.file_system(directory)
    if system.read_only:
        yield problem(
            "disk", f"{system.mount_point} is mounted read-only", "mount it with rw, or use another"
        )
        return
    if system.kind in VOLATILE:
        text = f"the data directory lies in memory ({system.kind})"
        yield warning("disk", text, "records are lost with the machine")
        return
    yield from _check_kind(system.kind)
    place = _place_to_write(directory, config.log_dirs)
    try:
        taken = facts.sync_seconds(place)
    except PermissionError:
        text = f"user {facts.user_id} may not write in {place}, so the disk was not measured"
        yield warning("disk", text, "run 'kawal doctor' as the user who runs the server")
        return
    except OSError as error:
        text = f"a file in {directory} cannot be written and synced: {error.strerror or error}"
        yield problem("disk", text, "look at the kernel's log (dmesg), and replace the disk if it says so")
        return
    yield from _check_syncs(taken, config)


def _place_to_write(directory: str, data: str) -> str:
    """Return a directory on the same disk for a short-lived file.

    A directory that is to become a data directory stays empty: no server would accept it with a stray file.
    """
    is_data = directory == os.path.abspath(data)
    return (
        os.path.dirname(directory) if is_data and not os.path.exists(f"{directory}/{MARKER}") else directory
    )


def _check_kind(kind: str) -> Iterator[Finding]:
    if kind in DISTANT:
        advice = "use a local disk, or make sure that its server syncs what it says it has synced"
        yield warning("disk", f"the data directory lies on another machine ({kind})", advice)
    elif kind in STACKED:
        advice = "mount a volume there: records are lost with the container"
        yield warning("disk", f"the data directory lies in a container's own layer ({kind})", advice)


def _check_syncs(taken: list[float], config: Config) -> Iterator[Finding]:
    middle, longest = taken[len(taken) // 2], taken[-1]
    times = f"{middle * 1000:.2f} ms (median of {len(taken)}), {longest * 1000:.1f} ms at most"
    text = f"a sync of 4 KiB takes {times}"
    if config.kawal_durability == "os":
        yield ok("disk", f"{text}; with kawal.durability=os no acknowledgement waits for it")
    elif middle > SYNC_SLOW_SECONDS:
        advice = (
            "every acks=all waits for a sync: use a disk with power-loss protection, or kawal.durability=os"
        )
        yield warning("disk", text, f"{advice} if the last moments may be lost in a power failure")
    elif middle < SYNC_IMPLAUSIBLE_SECONDS:
        advice = "the disk, or the virtual machine's host, may lose acknowledged data in a power failure"
        yield warning("disk", f"{text}, faster than devices are", advice)
    else:
        yield ok("disk", text)
