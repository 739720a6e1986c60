"""Hostile load beside a good client: does the good client notice, and is memory bounded?

    python -m compat_tests.overload [--seconds 60] [--seed N] [LOAD ...]

loads.py        what peers do to the gateway, each in a process of its own
good_client.py  the client that must not notice
measure.py      a gateway, the good client alone, then beside the load, then alone again
partitions.py   50,000 partitions: made, written to at random, killed, ready again
"""
