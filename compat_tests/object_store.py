"""The object stores under test, each a process, and what readers see in them.

versitygw keeps its files in a folder, and starts in half a second. SeaweedFS is one that people run; it takes
seconds to start, and 6 to 20 more for the race by which the gateway judges a store.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compat_tests.broker import HOST, free_port
from compat_tests.java import REPOSITORY
from compat_tests.process import ServerProcess
from compat_tests.waiting import eventually

WEED = str(Path(sys.executable).with_name("weed"))
VERSITYGW = REPOSITORY / ".cache" / "versitygw" / "versitygw"
KEYS = {"AWS_ACCESS_KEY_ID": "kawal", "AWS_SECRET_ACCESS_KEY": "kawal-secret"}
BUCKET = "lake"
GRPC_ABOVE = 10_000
"""How far above each of SeaweedFS's ports another one is, for its parts among each other."""

IDENTITIES = {
    "identities": [
        {
            "name": "tests",
            "credentials": [
                {"accessKey": KEYS["AWS_ACCESS_KEY_ID"], "secretKey": KEYS["AWS_SECRET_ACCESS_KEY"]}
            ],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
    ]
}


class ObjectStore:
    """One server with its data in `folder`, and a bucket in it."""

    def __init__(self, folder: Path, *, is_seaweedfs: bool = False) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        if is_seaweedfs:
            self._port, self._command = seaweedfs(folder)
        else:
            self._port, self._command = versitygw(folder)
        self._process: ServerProcess | None = None

    @property
    def endpoint(self) -> str:
        """The address of the store."""
        return f"http://{HOST}:{self._port}"

    def restart(self) -> None:
        """Start, and wait until the bucket is there."""
        self._process = ServerProcess(self._command, log_path=self._folder / "store.log", environment={})
        eventually(self._has_bucket, waiting_for="the object store", within_seconds=90)

    def kill(self) -> None:
        """End the server at once; what it has acknowledged is on the disk."""
        if self._process is not None:
            self._process.kill()

    def pause(self) -> None:
        """Let requests hang until `resume`."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Answer what hangs, and go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        os.kill(self._process.pid, number)

    def files(self) -> Any:
        """Return pyarrow's file system of the store."""
        from pyarrow.fs import S3FileSystem

        return S3FileSystem(
            access_key=KEYS["AWS_ACCESS_KEY_ID"],
            secret_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            endpoint_override=f"{HOST}:{self._port}",
            scheme="http",
            allow_bucket_creation=True,
            connect_timeout=2,
            request_timeout=5,
        )

    def _has_bucket(self) -> bool:
        assert self._process is not None
        assert self._process.exit_code is None, self._process.tail()
        try:
            self.files().create_dir(BUCKET)
        except OSError:
            return False
        return True

    def rows(self, kind: str, path: str, catalog: Path) -> int:
        """Return the rows that a reader of the format sees, none of whose code is ours."""
        if kind == "iceberg":
            table = f"kawal.{path.rpartition('/')[2]}"
            return iceberg_rows(
                catalog,
                table,
                {
                    "s3.endpoint": self.endpoint,
                    "s3.access-key-id": KEYS["AWS_ACCESS_KEY_ID"],
                    "s3.secret-access-key": KEYS["AWS_SECRET_ACCESS_KEY"],
                },
            )
        if kind == "delta":
            return self._delta_rows(f"s3://{path}")
        import pyarrow.parquet as pq
        from pyarrow.fs import FileSelector

        found = self.files().get_file_info(FileSelector(path, recursive=True, allow_not_found=True))
        return sum(
            pq.read_metadata(self.files().open_input_file(file.path)).num_rows
            for file in found
            if file.path.endswith(".parquet")
        )

    def _delta_rows(self, address: str) -> int:
        from deltalake import DeltaTable

        options = {**KEYS, "AWS_ENDPOINT_URL": self.endpoint, "AWS_ALLOW_HTTP": "true"}
        if not DeltaTable.is_deltatable(address, options):
            return 0
        return int(DeltaTable(address, storage_options=options).to_pyarrow_table().num_rows)


def versitygw(folder: Path) -> tuple[int, list[str]]:
    """Return a port, and the command that serves `folder` there."""
    port = free_port()
    (folder / "files").mkdir()
    keys = (f"--access={KEYS['AWS_ACCESS_KEY_ID']}", f"--secret={KEYS['AWS_SECRET_ACCESS_KEY']}")
    return port, [str(VERSITYGW), *keys, f"--port={HOST}:{port}", "posix", str(folder / "files")]


def seaweedfs(folder: Path) -> tuple[int, list[str]]:
    """Return a port, and the command that serves `folder` there."""
    (folder / "s3.json").write_text(json.dumps(IDENTITIES))
    port, *others = (free_port_pair() for _ in range(4))
    ports = dict(zip(("master", "volume", "filer"), others, strict=True))
    return port, [
        *(WEED, "server", f"-dir={folder}", f"-ip={HOST}", f"-ip.bind={HOST}", "-volume.max=100"),
        *(f"-{name}.port={number}" for name, number in ports.items()),
        *("-filer", "-s3", f"-s3.port={port}", f"-s3.config={folder / 's3.json'}"),
        # Their ports are fixed ones: two stores at once would both want them.
        *("-s3.port.iceberg=0", "-s3.port.lance=0"),
        # It takes no more writes at 1 % of the disk, which are gigabytes of a large one.
        "-volume.minFreeSpace=64MiB",
    ]


def free_port_pair() -> int:
    """Return a free port above which, by GRPC_ABOVE, another is free, where the server's parts meet."""
    while True:
        port = free_port() - GRPC_ABOVE
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            if port:  # 0 is any port
                return port


@contextmanager
def object_store(folder: Path, *, starts: bool = True, is_seaweedfs: bool = False) -> Iterator[ObjectStore]:
    """Run a store for the block, whose keys are in the environment meanwhile; it may be started later."""
    before = {name: os.environ.get(name) for name in KEYS}
    store = ObjectStore(folder, is_seaweedfs=is_seaweedfs)
    os.environ.update(KEYS)
    try:
        if starts:
            store.restart()
        yield store
    finally:
        store.kill()
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def iceberg_rows(catalog: Path, table: str, properties: dict[str, str] | None = None) -> int:
    """Return the rows of a table of a catalog in SQLite."""
    from pyiceberg.catalog import load_catalog

    if not catalog.exists():
        return 0
    opened = load_catalog("kawal", type="sql", uri=f"sqlite:///{catalog}", **(properties or {}))
    try:
        if not opened.table_exists(table):
            return 0
        return int(opened.load_table(table).scan().to_arrow().num_rows)
    finally:
        opened.close()
