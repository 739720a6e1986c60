"""Hostile load beside good clients: do they notice, and is memory bounded?

    python -m compat_tests.overload [--list] [--only NAME ...] [--seconds 30] [--factor 1] [--json FILE]

load.py         what a load is, and what loads are made of
loads.py        one load in a process of its own
crowds.py       many connections: silent, slow, half-sent, short-lived    crowds_http.py  HTTP
faults.py       contents that once ended the process                      weights.py      what is kept
wide.py         requests that name very many things                       lookups.py      what is stored
good_client.py  the clients that must not notice
figures.py      memory, processor time and metrics of the gateway
measure.py      good clients alone, then beside the load, then alone again
processors.py   how much of the machine others take, who have no part in it
partitions.py   50,000 partitions: made, written to at random, killed, ready again
"""
