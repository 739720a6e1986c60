"""The write-ahead-log engine: vnodes, streams, frames and the disk; stores opaque batches with offsets."""
