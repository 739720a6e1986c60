"""The write-ahead-log engine: vnodes, streams, frames and the disk, for opaque batches with offsets."""
