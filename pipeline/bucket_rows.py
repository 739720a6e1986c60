"""The rows of Parquet files in a bucket, read in Spark's Python workers: neither a jar nor Hadoop
is needed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pipeline.bucket import PATIENCE_SECONDS, open_store
from pipeline.bucket_config import BucketPlace
from pipeline.folder_values import folder_values
from pipeline.shape import BATCH

if TYPE_CHECKING:
    import pyarrow
    from obstore.store import ObjectStore

BATCH_ROWS = 10_000


def object_reader(
    place: BucketPlace, options: Mapping[str, str | bool], schema: pyarrow.Schema
) -> Callable[[Iterable[pyarrow.RecordBatch]], Iterator[pyarrow.RecordBatch]]:
    """Return the function for `mapInArrow`: keys of files to their rows, with the columns of `schema`.

    `options` are those of obstore, keys of the store among them; they reach the workers with the function.
    """

    def read(keys: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        store = open_store(place, options, patience_seconds=PATIENCE_SECONDS)
        for batch in keys:
            for key in batch.column(0).to_pylist():
                yield from rows_of(store, key, schema)

    return read


def rows_of(store: ObjectStore, key: str, schema: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows of one file, at most BATCH_ROWS at a time; a column that it lacks is its folder's."""
    import obstore
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(obstore.get(store, key).bytes())))
    for batch in file.iter_batches(BATCH_ROWS):
        yield pa.RecordBatch.from_arrays([_column(batch, field, key) for field in schema], schema=schema)


def _column(batch: pyarrow.RecordBatch, field: pyarrow.Field, key: str) -> Any:
    import pyarrow as pa

    if field.name == BATCH:
        found = re.search(r"=(\d{10})/", key)
        return pa.repeat(pa.scalar(int(found[1]) if found else -1, field.type), batch.num_rows)
    if field.name in batch.schema.names:
        return batch.column(field.name).cast(field.type)
    text = folder_values(key).get(field.name)
    if text is None:
        return pa.nulls(batch.num_rows, field.type)
    plain = pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type
    value = pa.scalar(text).cast(plain)
    return pa.repeat(value.cast(field.type), batch.num_rows)
