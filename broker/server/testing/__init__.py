"""Brokers in memory for the tests of applications, run by `kawal testing-host`.

host.py      the process: reads commands from standard input, makes brokers, ends with its parent
commands.py  the commands that can be sent to one broker
ram.py       one broker: its sockets, its disk in memory, its starts and stops
faulty.py    the broker with faults in it: answers that fail, come late or never
faults.py    the faults that requests and commits shall meet
workers.py   disk work without threads
clock.py     time that can be stopped
client.py    the commands' own client
lines.py     the separate log of each broker
"""
