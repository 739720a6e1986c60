"""The objects in the store: their names and their formats.

    <cluster id>/cut                              the only object that changes; what it does not lead to does
                                                  not exist
    <cluster id>/cuts/<time ms>-<number>-<epoch>  a cut as it was, for a restore to that moment
    <log>/manifest/<number>-<epoch>               the sealed segments of a log
    <log>/seg/<number>-<epoch>.wal  .idx          a sealed segment, byte by byte, and its index
    <log>/wal/<number>-<epoch>                    a chunk: bytes of the segment that still grows
    <log>/state/<number>-<epoch>                  a checkpoint, or a snapshot of the catalogue
    <cluster id>/journal/<epoch>/<number>         what follows the cut, with durability `remote`
                                                  (wal/remote/journal_format.py)

`<log>` is `<cluster id>/meta` or `<cluster id>/<database>/vnode-<n>`, as in the data directory.

    cut, manifest := {"crc32c": …, "content": {…}}       JSON; the CRC is that of the content's bytes

A cut is one moment of all logs: it was chosen on the event loop, where what is durable at a moment includes
everything that it followed from.  Each object is named with its size and CRC-32C, so that wrong bytes are
an error that names the object, and never another record.
"""

from __future__ import annotations

from typing import Final, TypeVar

import msgspec
from crc32c import crc32c
from msgspec import Struct

from wal.errors import StoreError
from wal.remote.places import Share
from wal.store_marker import StoreIdentity

Content = TypeVar("Content", bound=Struct)

REMOTE_FORMAT: Final = 1
JOURNAL_FORMAT: Final = 2
"""The format of a cut that is followed by a journal: an older program would restore without that."""
WORKERS_FORMAT: Final = 3
"""The format of a cut of one of several workers, with or without a journal: an older program would take its
logs for all."""
FORMATS: Final = (REMOTE_FORMAT, JOURNAL_FORMAT, WORKERS_FORMAT)
CUT: Final = "cut"
CUTS: Final = "cuts"


def past_cut_name(time_ms: int, number: int, epoch: int) -> str:
    """Return the name of a cut that is kept; names sort by time."""
    return f"{CUTS}/{time_ms:015d}-{number:020d}-{epoch:010d}"


def time_of(name: str) -> int | None:
    """Return the moment in the name of a cut that is kept, None for another name."""
    folder, _, rest = name.rpartition("/")
    time_ms = rest.partition("-")[0]
    return int(time_ms) if folder == CUTS and time_ms.isdigit() else None


class RemoteDamaged(StoreError):
    """An object that is missing, or has other bytes than were written; the text names it."""


class RemoteObject(Struct, frozen=True, array_like=True):
    """An immutable object, by the name that it has in the log's folder."""

    name: str
    size_bytes: int
    crc: int


class RemoteSegment(Struct, frozen=True, array_like=True):
    """A sealed segment.

    Its name is used once: a crash may bring a segment back that was removed, and the process before may still
    have a removal under way, or an upload.
    """

    stem: str
    """The name of its objects without the suffix."""
    base_version: int
    salt: int
    next_sequence: int
    """The first frame that is not in it."""
    size_bytes: int
    crc: int
    index_bytes: int = 0
    """0: without an index; a start makes it again."""
    index_crc: int = 0


class Chunk(Struct, frozen=True, array_like=True):
    """Bytes of the newest segment from `position` on, of frames that were synced."""

    name: str
    position: int
    size_bytes: int
    crc: int
    next_sequence: int
    """The first frame after it."""
    level: int = 0
    """How often it was put together from smaller ones."""

    @property
    def end(self) -> int:
        """The position after it."""
        return self.position + self.size_bytes


class LogCut(Struct, frozen=True, kw_only=True):
    """One log at the moment of the cut."""

    durable_sequence: int
    """The first frame that is not in it."""
    manifest: RemoteObject | None = None
    segments_missing: int = 0
    """The segments that are still to be uploaded; with some, the log cannot be restored yet."""
    base_version: int = 0
    """The segment whose bytes the chunks are."""
    salt: int = 0
    chunks: tuple[Chunk, ...] = ()
    checkpoint: RemoteObject | None = None
    snapshot: RemoteObject | None = None


class JournalMark(Struct, frozen=True, array_like=True, order=True):
    """A place in the journal: the first chunk that is not in a cut."""

    epoch: int
    number: int


class Cut(Struct, frozen=True, kw_only=True):
    """The state of a data directory, and the process that keeps it."""

    format: int = REMOTE_FORMAT
    store_format: int
    cluster_id: str
    node_id: int
    secret: str
    """Salts the checksums of segments: with the bucket alone, a restore must be able to go on writing."""
    epoch: int
    """Rises with every process that takes over; keys of chunks and manifests hold it."""
    incarnation: str
    """The process: its own writes are told from a stranger's by it."""
    number: int
    time_ms: int
    """Milliseconds since 1970."""
    logs: dict[str, LogCut]
    journal: JournalMark | None = None
    """The first chunk of the journal that the logs do not have; None: there is none of this process."""
    node: int = 0
    """The number of the node that the directory is of."""
    nodes: int = 1
    """The number of nodes of its cluster."""
    worker: int = 0
    """The number of the worker that leads these logs of the directory."""
    workers: int = 1
    """The number of workers whose copies make up the directory."""

    @property
    def share(self) -> Share:
        """The logs of the directory that are in it."""
        return Share(self.worker, self.workers)

    @property
    def part(self) -> tuple[int, int]:
        """The number of the node or worker that made it, and how many there are, with a copy each."""
        return (self.node, self.nodes) if self.workers == 1 else (self.worker, self.workers)

    @property
    def has_catalogue(self) -> bool:
        """Whether it is that of the node or worker which has the catalogue."""
        return not self.part[0]

    @property
    def is_empty(self) -> bool:
        """Whether nothing was copied yet; after a round, one that leads no log has a cut without logs."""
        return not self.logs and (self.has_catalogue or not self.number)

    @property
    def identity(self) -> StoreIdentity:
        """The identity of the data directory."""
        return StoreIdentity(
            cluster_id=self.cluster_id,
            node_id=self.node_id,
            secret=self.secret,
            node=self.node,
            nodes=self.nodes,
        )

    @property
    def segments_missing(self) -> int:
        """The segments of all logs that are still to be uploaded."""
        return sum(log.segments_missing for log in self.logs.values())


class Manifest(Struct, frozen=True, kw_only=True):
    """The sealed segments of a log that are in the store, oldest first."""

    segments: tuple[RemoteSegment, ...]


class _Envelope(Struct):
    crc32c: int
    content: msgspec.Raw


def seal(content: Cut | Manifest) -> bytes:
    """Return an object's bytes."""
    data = msgspec.json.encode(content)
    return msgspec.json.encode(_Envelope(crc32c(data), msgspec.Raw(data)))


def open_cut(data: bytes, key: str) -> Cut:
    """Return the cut in an object's bytes.  Raises: RemoteDamaged."""
    cut = _opened(data, Cut, key)
    if cut.format not in FORMATS:
        raise RemoteDamaged(
            f"{key}: written by another version of kawal (format {cut.format}; this one reads "
            f"{', '.join(map(str, FORMATS))}); use that version"
        )
    return cut


def open_manifest(data: bytes, key: str) -> Manifest:
    """Return the manifest in an object's bytes.  Raises: RemoteDamaged."""
    return _opened(data, Manifest, key)


def lost_cut(copy: str) -> RemoteDamaged:
    """Return the error for a copy of which the cut is missing; `copy` is its address."""
    return RemoteDamaged(
        f"{copy}/{CUT}: the object is missing, though other objects of the copy are there: nothing tells"
        " which of them count, so all were left as they are; put the object back from an older version of it"
        " that the bucket keeps. A directory with all of its segments on the disk can begin a new copy under"
        " another prefix of kawal.remote.store"
    )


def _opened(data: bytes, kind: type[Content], key: str) -> Content:
    try:
        envelope = msgspec.json.decode(data, type=_Envelope)
        content = bytes(envelope.content)
        if crc32c(content) != envelope.crc32c:
            raise RemoteDamaged(f"{key}: the object is damaged: its checksum is wrong")
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise RemoteDamaged(f"{key}: not an object of this kind ({error})") from error


def check_bytes(data: bytes, key: str, *, size_bytes: int, crc: int) -> None:
    """Compare an object's bytes with what was written.  Raises: RemoteDamaged."""
    found = crc32c(data)
    if (len(data), found) != (size_bytes, crc):
        raise RemoteDamaged(
            f"{key}: the object is damaged: it has {len(data)} bytes and checksum {found:#010x}, and what "
            f"names it says {size_bytes} and {crc:#010x}"
        )
