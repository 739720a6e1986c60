"""Spark's format `kawal.wal`: records read from a gateway's files or their copy, without the gateway.

source.py      what Spark calls
plan.py        which bytes of which segments are wanted, found on the driver
logs.py        where partitions begin and end
files.py       a data directory, or the copy of one in an object store (objects.py)
catalogue.py   which log has which partition of a topic
rows.py        a task: bytes of one segment become Arrow batches
"""
