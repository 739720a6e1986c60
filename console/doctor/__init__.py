"""What `kawal doctor` looks at.

finding.py   what a check has found, and how all of it is shown
machine.py   versions, memory, limits, clock
storage.py   the data directory and the disk below it
ports.py     the addresses, and the server that may be behind them

A check is a function that yields findings; whatever it needs of the machine comes through `Facts`, so that
tests can have any machine they like.
"""
