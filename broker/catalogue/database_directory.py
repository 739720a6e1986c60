"""The databases with their logs: made, changed and dropped while the server runs.

    create   job: directories made, logs opened --> record --> durable: vnodes serve, client is answered
    drop     record --> durable: client is answered, vnodes stop --> job: files removed --> record
    split    job: directory made, log opened --> record --> durable: one vnode more serves, client is answered

A crash may leave a directory that no record names: it holds no client's records and is removed at the next
start.  It may also leave a dropped database's directory, whose name the catalogue keeps until nothing is left
of it.  A database's record is written after its directories are synced, so a record without them is damage.
A vnode that was made for a split and never recorded holds nothing, and is what the next split uses.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from broker.catalogue.catalogue_records import (
    DatabaseConfigs,
    DatabaseCreated,
    DatabaseDropped,
    VnodesAdded,
)
from broker.catalogue.database_jobs import Done, MakeJob, RemoveJob, SplitJob, vnodes_made_by
from broker.catalogue.database_removals import DatabaseRemovals
from broker.catalogue.databases import (
    DEFAULT_DATABASE,
    VNODES_MAX,
    Database,
    altered,
    check_database_name,
    check_durability,
    checked_settings,
    durability_of,
    find_database,
    log_options,
    value_of,
)
from broker.catalogue.guards import check_droppable, check_empty
from broker.config.database_keys import DATABASE_KEYS
from broker.errors import RequestError
from broker.storage.vnode import Vnode
from protocol.error_codes import ErrorCode
from wal.maintenance_jobs import Job
from wal.store import DATABASE_PREFIX, Store

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

    from broker.catalogue.metadata import Metadata
    from broker.loop.loop import Loop
    from broker.storage.vnodes import Vnodes
    from wal.options import LogOptions

logger = logging.getLogger("kawal.databases")


class DatabaseDirectory:
    """All databases of the node over the store that keeps them."""

    def __init__(
        self, metadata: Metadata, loop: Loop, *, store: Store, vnodes: Vnodes, random: Random
    ) -> None:
        self._metadata = metadata
        self._loop = loop
        self._store = store
        self._vnodes = vnodes
        self._random = random
        self._databases = metadata.catalogue.databases
        self._databases.listen(self._changed)
        # Names that are taken while their directories are made.
        self._making: set[str] = set()
        # Databases for which a vnode was made whose record is not durable yet.
        self._splitting: set[str] = set()
        self._jobs: list[Job] = []
        self._running: set[Job] = set()
        # Directories whose record was lost with the catalogue's log: until the log has been verified against
        # the disk, the next start may still find the record.
        self._doubtful: list[Job] = []
        self.removals = DatabaseRemovals(metadata, loop, store, vnodes)

    # --- what clients ask for --------------------------------------------------------------------------

    def create(
        self, name: str, settings: dict[str, str | None], now_ms: int, done: Done, *, validate_only: bool
    ) -> bool:
        """Make a database; `done` is called when it is durable and serves.

        With `validate_only`, nothing is made and `done` is not called.  Return whether `done` will be called.
        Raises: RequestError.
        """
        check_database_name(name)
        if name in self._databases or name in self._making:
            raise RequestError(ErrorCode.DUPLICATE_RESOURCE, f"database {name!r} exists already")
        configs = checked_settings(settings)
        config = self._metadata.config
        check_durability(configs, config)
        count = int(value_of("vnodes", configs, config))
        configs.pop("vnodes", None)
        self._check_room(count)
        if validate_only:
            return False
        record = DatabaseCreated(
            name=name,
            vnode_count=count,
            durability=durability_of(configs, config),
            directory=f"{DATABASE_PREFIX}{self._random.getrandbits(128):032x}",
            created_ms=self._loop.clock.wall_ms(now_ms),
            configs=configs,
        )
        self._making.add(name)
        self._jobs.append(self._make_job(record, now_ms, done))
        return True

    def _make_job(self, record: DatabaseCreated, now_ms: int, done: Done | None) -> MakeJob:
        nodes = self._metadata.nodes
        led, kept = nodes.led(record.vnode_count), nodes.kept(record.vnode_count)
        if done is None and not nodes.makes_directories:
            kept = range(0)
        options = self._options_with(record.configs, len(led))
        return MakeJob(self._store, record, led, kept, options, now_ms, done)

    def _options_with(self, configs: Mapping[str, str], more: int) -> LogOptions:
        """Return the options of logs of which this node will have so many more: all share its memory."""
        count = sum(len(vnodes) for vnodes in self._vnodes.values()) + more
        return log_options(self._metadata.config, configs, vnode_count=count)

    def _check_room(self, added: int) -> None:
        making = vnodes_made_by([*self._jobs, *self._running])
        there = sum(database.vnode_count for database in self._databases.values())
        if there + making + added > VNODES_MAX:
            raise RequestError(
                ErrorCode.POLICY_VIOLATION,
                f"{added} more vnodes would exceed the {VNODES_MAX} of one server ({there + making} exist)",
            )

    def alter(self, name: str, changes: dict[str, str | None], now_ms: int, *, validate_only: bool) -> None:
        """Change settings of a database; null removes one.  Durable like all changes of the catalogue.

        Raises: RequestError.
        """
        database = find_database(name, self._databases)
        views = self._metadata.catalogue.views_over_database(name)
        configs = altered(database, changes, has_views=bool(views))
        check_durability(configs, self._metadata.config)
        if not validate_only:
            self._metadata.metadata_log.append(DatabaseConfigs(name=name, configs=configs), now_ms)

    def drop(self, name: str, now_ms: int, *, validate_only: bool) -> None:
        """Drop an empty database; its files are removed once that is durable.  Raises: RequestError."""
        database = find_database(name, self._databases)
        self._check_not_split(name)
        if name == DEFAULT_DATABASE:
            raise RequestError(ErrorCode.POLICY_VIOLATION, "database 'default' always exists")
        check_droppable(database, self._metadata.config)
        if self._metadata.catalogue.partitions_of[name] or self._metadata.catalogue.views_over_database(name):
            check_empty(name, self.topics_of(name))
        if validate_only:
            return
        self._metadata.metadata_log.append(
            DatabaseDropped(name=name, directory=database.directory),
            now_ms,
            confirmed=lambda: self._dropped(database),
        )

    def split(self, name: str, now_ms: int, done: Done, *, validate_only: bool) -> bool:
        """Add a vnode to a database; `done` is called when it is durable and serves.

        With `validate_only`, nothing is made and `done` is not called.  Return whether `done` will be called.
        Raises: RequestError.
        """
        database = find_database(name, self._databases)
        self._check_not_split(name)
        most = DATABASE_KEYS["vnodes"].maximum
        if most is not None and database.vnode_count >= most:
            raise RequestError(ErrorCode.POLICY_VIOLATION, f"database {name!r} has {most} vnodes, the most")
        self._check_room(1)
        if validate_only:
            return False
        self._jobs.append(self._split_job(database, database.vnode_count, now_ms, done))
        return True

    def _split_job(self, database: Database, index: int, now_ms: int, done: Done | None) -> SplitJob:
        nodes = self._metadata.nodes
        led = nodes.leads(index)
        options = self._options_with(database.configs, led)
        kept = led if nodes.has_own_directory else done is not None
        return SplitJob(self._store, database, index, led, kept, options, now_ms, done)

    # --- what the controller has done ------------------------------------------------------------------

    def created_elsewhere(self, record: DatabaseCreated, now_ms: int) -> None:
        """Open the logs of a new database that are led here, and serve them."""
        self._vnodes.add(record.name, [])
        self._jobs.append(self._make_job(record, now_ms, None))

    def split_elsewhere(self, record: VnodesAdded, now_ms: int) -> None:
        """Open the log of a new vnode if it is led here, and serve it."""
        index = record.vnode_count - 1
        if self._metadata.nodes.leads(index):
            self._jobs.append(self._split_job(self._databases[record.name], index, now_ms, None))

    def dropped_elsewhere(self, record: DatabaseDropped, now_ms: int) -> None:
        """Stop serving a database; in a shared directory the controller removes the files."""
        database = self._databases[record.name]
        self._metadata.metadata_log.append(record, now_ms, confirmed=lambda: self._dropped(database))

    def _check_not_split(self, name: str) -> None:
        splits = [job for job in [*self._jobs, *self._running] if isinstance(job, SplitJob)]
        if name in self._splitting or any(job.database.name == name for job in splits):
            raise RequestError(
                ErrorCode.POLICY_VIOLATION, f"a vnode is being added to database {name!r}; try again"
            )

    def topics_of(self, name: str) -> list[str]:
        """Return the names of the topics in the database and of the views over it, planned ones too."""
        catalogue = self._metadata.catalogue
        inside = {topic.name for topic in catalogue.by_name.values() if topic.database == name}
        return list(inside | {view.name for view in catalogue.views_over_database(name)})

    # --- what follows from it --------------------------------------------------------------------------

    def _changed(self, database: Database) -> None:
        for topic in self._metadata.catalogue.by_name.values():
            if topic.database == database.name:
                topic.settings = None
        self.configure_logs(database)

    def configure_logs(self, database: Database) -> None:
        """Apply the database's settings, or the server's where it has none, to its logs."""
        # Without its share, each log of many would let a start take as long as one log alone may.
        options = self._options_with(database.configs, 0)
        for vnode in self._vnodes.get(database.name, ()):
            vnode.log.change_options(options)
        self._vnodes.follow_durability()

    def _dropped(self, database: Database) -> None:
        vnodes = self._vnodes.remove(database.name)
        self._metadata.topics.forget_vnodes(vnodes)
        self.removals.dropped(database.directory, vnodes)

    # --- disk work -------------------------------------------------------------------------------------

    @property
    def busy(self) -> bool:
        """True while there is work that is not done."""
        return bool(self._running or self._jobs or self.removals.busy)

    def take_jobs(self, now_ms: int) -> list[Job]:
        """Return the work that can begin now."""
        self._jobs += self.removals.take_jobs(now_ms)
        if self._doubtful and self._vnodes.meta.log.state == "OPEN":
            self._jobs += self._doubtful
            self._doubtful.clear()
        jobs, self._jobs = self._jobs, []
        self._running.update(jobs)
        return jobs

    def owns(self, job: object) -> bool:
        """Whether the job is one of ours that is in flight."""
        return isinstance(job, MakeJob | SplitJob | RemoveJob) and job in self._running

    def job_done(self, job: Job, error: Exception | None, now_ms: int) -> None:
        """Take back a job that has ended."""
        self._running.discard(job)
        if isinstance(job, MakeJob):
            self._made(job, error, now_ms)
        elif isinstance(job, SplitJob):
            self._split(job, error, now_ms)
        elif isinstance(job, RemoveJob):
            self.removals.job_done(job, error, now_ms)

    def _made(self, job: MakeJob, error: Exception | None, now_ms: int) -> None:
        name, recording = job.record.name, self._metadata.metadata_log
        self._making.discard(name)
        pairs = zip(job.led, job.logs, strict=False)
        vnodes = [Vnode(log, database=name, index=index) for index, log in pairs]
        if job.done is None:
            self._opened_elsewhere(name, vnodes, error)
            return
        done = job.done

        def give_up(refusal: RequestError, jobs: list[Job]) -> None:
            for vnode in vnodes:
                vnode.log.abandon()
            jobs.append(RemoveJob(self._store, job.record.directory))
            done(refusal)

        def recorded(failure: ErrorCode | None) -> None:
            if failure is None:
                return done(None)
            refusal = RequestError(failure, f"database {name!r} could not be recorded; try again")
            return give_up(refusal, self._doubtful)

        if error is not None:
            text = f"database {name!r} was not made: {error}"
            give_up(RequestError(ErrorCode.KAFKA_STORAGE_ERROR, text), self._jobs)
            return
        try:
            recording.append(job.record, now_ms, confirmed=lambda: self._serve(name, vnodes))
        except RequestError as refusal:
            give_up(refusal, self._jobs)
            return
        recording.when_durable(recorded, now_ms)

    def _split(self, job: SplitJob, error: Exception | None, now_ms: int) -> None:
        database, recording = job.database, self._metadata.metadata_log
        name = database.name
        made = [] if job.log is None else [Vnode(job.log, database=name, index=job.index)]
        done = job.done
        if done is None:
            self._opened_elsewhere(name, made, error)
            return
        if error is not None:
            done(RequestError(ErrorCode.KAFKA_STORAGE_ERROR, f"no vnode was added to {name!r}: {error}"))
            return

        def give_up(refusal: RequestError) -> None:
            # Its directory stays: the next start may still find the record, and the next split uses it.
            self._splitting.discard(name)
            for vnode in made:
                vnode.log.abandon()
            done(refusal)

        def recorded(failure: ErrorCode | None) -> None:
            if failure is None:
                self._splitting.discard(name)
                done(None)
            else:
                give_up(RequestError(failure, f"the new vnode of {name!r} could not be recorded; try again"))

        self._splitting.add(name)
        record = VnodesAdded(name=name, vnode_count=job.index + 1)
        try:
            recording.append(
                record, now_ms, confirmed=lambda: self._serve(name, [*self._vnodes[name], *made])
            )
        except RequestError as refusal:
            give_up(refusal)
            return
        recording.when_durable(recorded, now_ms)

    def _opened_elsewhere(self, name: str, vnodes: list[Vnode], error: Exception | None) -> None:
        """Serve vnodes that the controller has made; an error is left to the next start."""
        if error is not None:
            logger.error("vnodes of database %r could not be opened, until the next start: %s", name, error)
        if name in self._vnodes:
            self._serve(name, [*self._vnodes[name], *vnodes])
        else:
            for vnode in vnodes:
                vnode.log.abandon()

    def _serve(self, name: str, vnodes: list[Vnode]) -> None:
        self._vnodes.add(name, vnodes)
        # The server's configuration may have changed since the logs were opened, and all shares are smaller.
        for database in self._databases.values():
            self.configure_logs(database)
