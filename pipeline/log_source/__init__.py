"""Spark's format `kawal.wal`: records read from a gateway's files, without the gateway.

source.py      what Spark calls
plan.py        which bytes of which segments are wanted, found on the driver
catalogue.py   which log has which partition of a topic
rows.py        a task: bytes of one segment become Arrow batches
"""
