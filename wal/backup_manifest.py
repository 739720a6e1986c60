"""The manifest of a backup, which makes it one: written last, when everything else is on the disk.

    manifest := {"crc32c": …, "content": {…}}     JSON; the CRC is that of the content with sorted keys

A folder without a valid manifest is what an interrupted backup left.  The manifest holds the secret of the
data directory's marker, which salts its checksums; there is no marker in a backup, so no server starts on it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from crc32c import crc32c

from wal.backup_pieces import KnownFile
from wal.disk import Disk, DiskError
from wal.errors import StoreError
from wal.store_marker import STORE_FORMAT, StoreIdentity
from wal.whole_files import read_file, replace_file

MANIFEST = "manifest.json"
MANIFEST_TEMPORARY = "manifest.json.tmp"

PARTIAL = ".partial"
"""The end of the name of a folder that is no complete backup: one being made, or being removed."""

BACKUP_FORMAT = 1
"""The format of a backup's layout and manifest."""


class BackupError(StoreError):
    """A backup that cannot be made or restored; the text says why and what to do."""


@dataclass(slots=True, kw_only=True)
class Manifest:
    """The description of a complete backup."""

    identity: StoreIdentity
    point_ms: int
    """Milliseconds since 1970: what was written until then is in the backup."""
    made_ms: int
    """When the backup was complete."""
    store_format: int = STORE_FORMAT
    logs: dict[str, dict[str, KnownFile]] = field(default_factory=dict)
    """The files of each log by the log's folder, `meta` or `DATABASE/vnode-N`; a new log has none."""

    @property
    def size_bytes(self) -> int:
        """The size of all files."""
        return sum(file.size_bytes for files in self.logs.values() for file in files.values())


def write_manifest(disk: Disk, folder: str, manifest: Manifest) -> None:
    """Write the manifest durably; everything else must be durable before.  Raises: DiskError."""
    content = {
        "format": BACKUP_FORMAT,
        "store_format": manifest.store_format,
        "point_ms": manifest.point_ms,
        "made_ms": manifest.made_ms,
        **asdict(manifest.identity),
        "logs": {
            log: {name: list(file) for name, file in files.items()} for log, files in manifest.logs.items()
        },
    }
    data = json.dumps({"crc32c": _crc_of(content), "content": content}, sort_keys=True).encode() + b"\n"
    replace_file(disk, folder, MANIFEST, data, temporary=MANIFEST_TEMPORARY)


def read_manifest(disk: Disk, folder: str) -> Manifest:
    """Return the manifest of a complete backup.

    Raises: BackupError when there is none, when it is damaged, or of a later version; DiskError.
    """
    path = f"{folder}/{MANIFEST}"
    if not disk.exists(path):
        raise BackupError(
            f"{folder}: there is no {MANIFEST}: not a backup, or one that was interrupted; give the folder of"
            " a complete one"
        )
    try:
        tree: dict[str, Any] = json.loads(read_file(disk, path))
        content = tree["content"]
        is_sound = tree["crc32c"] == _crc_of(content)
        version, store_format = content["format"], content["store_format"]
    except DiskError:
        raise
    except (ValueError, KeyError, TypeError) as error:
        raise BackupError(f"{path}: not a valid manifest ({error}); use another backup") from error
    if not is_sound:
        raise BackupError(f"{path}: the manifest is damaged: its checksum is wrong; use another backup")
    if version != BACKUP_FORMAT or store_format > STORE_FORMAT:
        raise BackupError(
            f"{path}: made by a later version of kawal (format {version}, data {store_format}); use that"
            " version"
        )
    return Manifest(
        identity=StoreIdentity(
            cluster_id=content["cluster_id"], node_id=content["node_id"], secret=content["secret"]
        ),
        point_ms=content["point_ms"],
        made_ms=content["made_ms"],
        store_format=store_format,
        logs={
            log: {name: KnownFile(*file) for name, file in files.items()}
            for log, files in content["logs"].items()
        },
    )


def _crc_of(content: dict[str, Any]) -> int:
    crc: int = crc32c(json.dumps(content, sort_keys=True).encode())
    return crc


# --- folders of backups -----------------------------------------------------------------------------------


def backups_in(disk: Disk, folder: str) -> list[str]:
    """Return the names of the complete backups in a folder, oldest first."""
    names = [name for name in disk.list(folder) if not name.endswith(PARTIAL)]
    return sorted(name for name in names if disk.exists(f"{folder}/{name}/{MANIFEST}"))


def remove_old(disk: Disk, folder: str, keep: int) -> list[str]:
    """Remove all but the newest `keep` complete backups; return the names of those removed.

    An interruption leaves none that looks complete and is not.
    """
    old = backups_in(disk, folder)[:-keep]
    for name in old:
        disk.rename(f"{folder}/{name}", f"{folder}/{name}{PARTIAL}")
        disk.sync_directory(folder)
        remove_tree(disk, f"{folder}/{name}{PARTIAL}")
    return old


def remove_tree(disk: Disk, folder: str) -> None:
    """Remove a folder with all that is in it."""
    for name in disk.list(folder):
        path = f"{folder}/{name}"
        try:
            disk.remove(path)
        except DiskError:
            remove_tree(disk, path)
    disk.remove_directory(folder)
