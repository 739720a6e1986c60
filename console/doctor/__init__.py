"""The checks of `kawal doctor`.

finding.py   the findings of a check, and how they are shown
machine.py   versions, memory, limits, clock
storage.py   the data directory and the disk under it
durability.py  what the classes in use survive, the object store, and what waiting for it costs
audit.py     the file of the audit log
ports.py     the addresses, and the server that may already listen on them

A check is a function that yields findings; whatever it needs of the machine comes through `Facts`, so that
tests can have any machine they like.
"""
