"""A search for requests that end the server, stop it, fill its memory or meet a fault of its own.

    python -m compat_tests.hunt --minutes 10 [--seed N] [--directory DIR]
    python -m compat_tests.hunt --replay FINDING.bin

world.py     the names, ids, epochs and offsets that requests are made of
values.py    messages made up from their declarations: large, repeated, odd
records.py   record batches that lie about their records; records of __consumer_offsets; documents for views
wrong.py     what a broken client makes of a right request
link.py      a connection that knows which answers it may expect, and keeps the last bytes sent
actors.py    what the clients do: large, pipelined, wrong, producing, reading, changing topics, joining groups
pages.py     the same for HTTP
player.py    some actors for some seconds, in a process of its own
pieces.py    a server with some settings, played on, restarted, and judged; with a good client beside it
"""
