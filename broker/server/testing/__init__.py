"""Brokers in memory for the tests of applications: what `kawal testing-host` runs.

host.py      the process: reads commands from standard input, makes brokers, ends with its parent
commands.py  what can be asked of one broker
ram.py       one broker: its sockets, its disk in memory, its life
faulty.py    the machine with faults in it: answers that fail, come late or never
faults.py    which requests and commits shall meet which fault
workers.py   disk work without threads
clock.py     time that can be stopped
client.py    the commands' own client
lines.py     the log of each broker apart
"""
