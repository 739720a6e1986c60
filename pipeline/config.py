"""The content of a job file: one struct per table of the file.

The description beside each key is its documentation, which `docs/pipeline.md` repeats (a test compares the
two).  `pipeline.job_file` reads and checks a file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from pipeline.bucket_config import BucketSection, CopySection, in_bucket
from pipeline.security import SecuritySection

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]  # up to the largest that Spark takes
MASTER_PATTERN = (
    r"^(local(\[([1-9]\d*|\*)(, ?\d+)?\])?|local-cluster\[[1-9]\d*,[1-9]\d*,\d+\]|spark://\S+:\d+\S*|"
    r"k8s://\S+|yarn)$"
)


class JobSection(Struct, frozen=True, kw_only=True):
    """Table [job]: the name and kind of the job."""

    name: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
            description="Name of the job: letters, digits, '.', '_' and '-'. The table remembers it.",
        ),
    ]
    kind: Annotated[
        Literal["land", "replicate", "derive"],
        Meta(
            description="What the job does. land: topics to a table. replicate: topics to topics of another "
            "broker. derive: the result of source.view to a topic."
        ),
    ] = "land"
    checkpoint: Annotated[
        str,
        Meta(description="Folder of Spark's checkpoint; empty: .NAME.landing/checkpoint beside the table."),
    ] = ""
    metrics_file: Annotated[
        str,
        Meta(
            description="File in which the progress is kept as Prometheus metrics, for node_exporter's "
            "textfile collector; empty: none."
        ),
    ] = ""


class SourceSection(Struct, frozen=True, kw_only=True):
    """Table [source]: the records to read."""

    topics: Annotated[list[str], Meta(min_length=1, description="Topics to read; all land in one table.")]
    bootstrap: Annotated[str, Meta(min_length=1, description="Broker addresses, HOST:PORT[,HOST:PORT].")] = (
        "127.0.0.1:9092"
    )
    view: Annotated[
        str,
        Meta(
            description="A view's query over the topic, SELECT … FROM TOPIC WHERE …: its result lands in "
            "place of the records; empty: all records."
        ),
    ] = ""
    view_columns: Annotated[
        str,
        Meta(
            description="The columns of the topic's values for source.view, as kawal.columns declares them."
        ),
    ] = ""
    start: Annotated[
        str,
        Meta(
            description="Start of the first run: earliest, latest, or a time such as "
            "2013-01-01T00:00:00Z (the records of that time and later)."
        ),
    ] = "earliest"
    isolation: Annotated[
        Literal["read_committed", "read_uncommitted"],
        Meta(description="Whether records of open and aborted transactions are left out."),
    ] = "read_committed"
    max_offsets_per_trigger: Annotated[
        Count, Meta(description="Most offsets in one batch, over all partitions; 0: no limit.")
    ] = 1_000_000
    min_partitions: Annotated[
        int,
        Meta(
            ge=0,
            le=100_000,
            description="Split the partitions into at least this many Spark tasks; 0: one each.",
        ),
    ] = 0
    fail_on_data_loss: Annotated[
        bool,
        Meta(description="Fail when records were deleted before they were read; false: go on without them."),
    ] = True
    group: Annotated[
        str,
        Meta(
            max_length=10_000,
            description="Consumer group to which what has landed is committed, so that Kafka's tools show "
            "the job's lag; empty: kawal-pipe-NAME, '-': none.",
        ),
    ] = ""
    late_after: Annotated[
        str,
        Meta(
            pattern=r"^\d+(ms|s|m|h)$",
            description="A record is counted as late when its timestamp is older than the newest one of "
            "earlier batches by more than this.",
        ),
    ] = "1h"
    backfill: Annotated[
        str,
        Meta(
            description="A gateway's data directory, or s3://BUCKET/PREFIX of its copy: the first run reads "
            "what is there from the files, and the rest from the broker; empty: all from the broker."
        ),
    ] = ""
    options: Annotated[
        dict[str, str | int | float | bool],
        Meta(description="Further options of Spark's Kafka source, such as 'kafka.fetch.max.bytes'."),
    ] = {}
    security: SecuritySection = SecuritySection()
    bucket: CopySection = CopySection()


class SchemaSection(Struct, frozen=True, kw_only=True):
    """Table [schema]: the columns that a record becomes."""

    mode: Annotated[
        Literal["raw", "json"],
        Meta(description="raw: key and value as they are. json: one column for each declared field."),
    ] = "raw"
    columns: Annotated[
        str,
        Meta(description="Columns of mode json as SQL declares them: 'ts bigint not null, current double'."),
    ] = ""
    registry: Annotated[
        str,
        Meta(
            description="Address of a schema registry, http://HOST:8081: values are framed JSON, Avro or "
            "Protobuf."
        ),
    ] = ""
    rescue: Annotated[
        str, Meta(description="Column for the undeclared JSON fields, as map<string,string>; empty: dropped.")
    ] = ""
    key: Annotated[
        Literal["", "binary", "string", "none"],
        Meta(description="Form of the record key; empty: binary in mode raw, string in mode json."),
    ] = ""
    headers: Annotated[
        bool, Meta(description="Whether record headers land, as array<struct<key,value>>.")
    ] = False
    coordinates_prefix: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z0-9_]*$",
            description="Put before topic, partition, offset, timestamp, key and headers where a declared "
            "column has such a name.",
        ),
    ] = ""


class SinkSection(Struct, frozen=True, kw_only=True):
    """Table [sink]: the table in which rows land."""

    path: Annotated[
        str,
        Meta(
            min_length=1,
            description="Folder of the table; a local disk or a mount all executors share, or "
            "s3://BUCKET/PREFIX. With a target: of the job's ledger.",
        ),
    ]
    work: Annotated[
        str,
        Meta(
            description="With a path in a bucket: the folder for lock, log and batches being made, a local "
            "disk or a mount all executors share; empty: .NAME.landing beside the job file."
        ),
    ] = ""
    kind: Annotated[
        Literal["parquet", "delta", "iceberg"],
        Meta(
            description="Format of the table: parquet, folders that any reader takes; delta (needs "
            "kawal[delta]) or iceberg (kawal[iceberg]), with a log that readers of that format follow."
        ),
    ] = "parquet"
    catalog: Annotated[
        dict[str, str],
        Meta(
            description="Properties of the Iceberg catalog, as pyiceberg names them (type, uri, …); empty: a "
            "file of SQLite beside the table (not in a bucket)."
        ),
    ] = {}
    table: Annotated[
        str, Meta(description="Name of the Iceberg table, NAMESPACE.NAME; empty: kawal.FOLDER of the path.")
    ] = ""
    partition_by: Annotated[
        list[str],
        Meta(
            description="Columns that become folders; also date and hour of the record timestamp (UTC) "
            "where no declared column has that name."
        ),
    ] = []
    compression: Annotated[
        Literal["zstd", "snappy", "gzip", "lz4_raw", "uncompressed"],
        Meta(description="Codec of the Parquet pages."),
    ] = "zstd"
    max_rows_per_file: Annotated[
        Count, Meta(description="Begin a new file after this many rows; 0: never.")
    ] = 0
    rotate_rows: Annotated[
        Count,
        Meta(description="With an interval: begin a batch when so many offsets are waiting; 0: at once."),
    ] = 0
    rotate_bytes: Annotated[
        Count,
        Meta(
            description="With an interval: begin a batch when what waits would make about so many bytes of "
            "files; 0: at once."
        ),
    ] = 0
    rotate_interval: Annotated[
        str,
        Meta(
            pattern=r"^(\d+(ms|s|m|h))?$",
            description="With an interval: begin a batch with what is there when the last is this old; "
            "empty: 15m where rotate_rows or rotate_bytes is set.",
        ),
    ] = ""
    batch_column: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z][A-Za-z0-9_]*$",
            description="Name of the folder level that holds one landed batch, BATCH_COLUMN=NUMBER.",
        ),
    ] = "batch"
    bucket: BucketSection = BucketSection()


class TargetSection(Struct, frozen=True, kw_only=True):
    """Table [target]: the topics to which jobs of kind replicate and derive write."""

    bootstrap: Annotated[
        str, Meta(description="Broker addresses of the target; empty, with kind derive: the source's.")
    ] = ""
    topic: Annotated[
        str,
        Meta(
            min_length=1,
            description="Name of the target topic; '{topic}' stands for the source's. It is created if need "
            "be, with as many partitions and the same configs.",
        ),
    ] = "{topic}"
    replication_factor: Annotated[
        int, Meta(ge=-1, le=32767, description="Replicas of topics created; -1: the broker's default.")
    ] = -1
    configs: Annotated[
        dict[str, str | int | bool],
        Meta(
            description="Configs of topics that are created, besides the source's: 'kawal.database' puts "
            "them into a database that is there."
        ),
    ] = {}
    transaction_timeout: Annotated[
        str,
        Meta(
            pattern=r"^\d+(ms|s|m|h)$",
            description="The time in which a batch must be written; readers may wait as long for what a "
            "killed run has left.",
        ),
    ] = "5m"
    options: Annotated[
        dict[str, str | int | bool],
        Meta(description="Further settings of the writer, by librdkafka's names: 'compression.type'."),
    ] = {}
    security: SecuritySection = SecuritySection()


class ErrorsSection(Struct, frozen=True, kw_only=True):
    """Table [errors]: the treatment of records that do not fit the schema."""

    mode: Annotated[
        Literal["quarantine", "fail", "skip"],
        Meta(
            description="quarantine: land them beside the table. fail: stop the job. skip: count them only."
        ),
    ] = "quarantine"
    path: Annotated[str, Meta(description="Folder of the quarantine table; empty: PATH_bad.")] = ""
    stop_after: Annotated[
        Count, Meta(description="Stop before a batch that raises the job's bad records above this; 0: never.")
    ] = 0


class TriggerSection(Struct, frozen=True, kw_only=True):
    """Table [trigger]: the times at which the job reads."""

    mode: Annotated[
        Literal["available_now", "interval", "once"],
        Meta(
            description="available_now: what is there, in batches, then end. interval: for ever. "
            "once: what is there, in one batch, then end."
        ),
    ] = "available_now"
    interval: Annotated[
        str,
        Meta(
            pattern=r"^\d+(ms|s|m|h)$",
            description="Time between the starts of two batches in mode interval: 500ms, 10s, 5m, 1h.",
        ),
    ] = "10s"


class SparkSection(Struct, frozen=True, kw_only=True):
    """Table [spark]: the engine."""

    master: Annotated[
        str, Meta(pattern=MASTER_PATTERN, description="Spark master: local[CORES] or spark://HOST:PORT.")
    ] = "local[2]"
    driver_memory: Annotated[
        str,
        Meta(pattern=r"^\d+[mg]$", description="Heap of the driver (of everything, with a local master)."),
    ] = "1g"
    quick_start: Annotated[
        bool, Meta(description="For runs of a few minutes: Java starts fast, but never compiles its best.")
    ] = False
    options: Annotated[
        dict[str, str | int | float | bool], Meta(description="Further Spark configuration; overrides ours.")
    ] = {}


class Job(Struct, frozen=True, kw_only=True):
    """A whole job file."""

    file: str = ""
    """The path of the job file, as it was given."""
    job: JobSection
    source: SourceSection
    sink: SinkSection
    target: TargetSection = TargetSection()
    schema: SchemaSection = SchemaSection()
    errors: ErrorsSection = ErrorsSection()
    trigger: TriggerSection = TriggerSection()
    spark: SparkSection = SparkSection()

    @property
    def name(self) -> str:
        """The name of the job."""
        return self.job.name

    @property
    def in_bucket(self) -> bool:
        """Whether the table is in an object store."""
        return in_bucket(self.sink.path)

    @property
    def writes_topics(self) -> bool:
        """Whether the job writes to topics, and not to a table."""
        return self.job.kind != "land"

    @property
    def target_bootstrap(self) -> str:
        """The broker addresses of the target."""
        return self.target.bootstrap or self.source.bootstrap

    @property
    def target_security(self) -> SecuritySection:
        """TLS and SASL towards the target."""
        return self.target.security if self.target.bootstrap else self.source.security

    @property
    def target_shown(self) -> str:
        """The target as people read it, "" for a table."""
        if not self.writes_topics:
            return ""
        return f"{', '.join(map(self.target_topic, self.source.topics))} on {self.target_bootstrap}"

    def target_topic(self, topic: str) -> str:
        """Return the topic to which the records of `topic` are written."""
        return self.target.topic.replace("{topic}", topic)

    @property
    def group(self) -> str | None:
        """The consumer group to commit progress to, if there is one."""
        return None if self.source.group == "-" else self.source.group or f"kawal-pipe-{self.name}"

    @property
    def key_as(self) -> str:
        """The form in which the key lands: binary, string or none."""
        return self.schema.key or ("string" if self.schema.mode == "json" else "binary")
