"""The oracle: the same seeded requests sent to the gateway and to Apache Kafka, and their answers compared.

    steps.py      a request, with stand-ins for the ids that only the broker under test can give
    world.py      the topics of a sequence
    pools.py      values for every field of every request, valid and wrong
    wild.py       requests drawn from the declarations of the messages
    themes/       requests that belong together: topics, records, producers, sessions, offsets, configs
    sequences.py  all of these by name and seed
    runner.py     sends a sequence to one broker; settling.py waits until what it changed can be seen
    plain.py      answers as plain data, with ids, times and addresses made the same
    compare.py    the differences of two answers, field by field
    allow_list.py the differences that stay, each with its reason; allow_list_nodes.py those of several nodes;
                  allowed.py says what covers what
    mutants.py    answers with one thing wrong, which must be seen
    clusters.py   two nodes of both: Kawal's workers, and brokers of Kafka with partitions in the same places
    routing.py    the nodes that get a step; fitting.py what is changed in it; courses.py both clusters, live
    recorded.py   Kafka's answers in files, with which compat_tests/test_differential.py compares the gateway
    __main__.py   `make differential`: both brokers live, with other requests every time

What Kafka does is right, unless it is an accident that no client can see. A new API is covered from its first
day, and needs `make differential ARGS=--record`; requests that must fit together get a theme.
"""
