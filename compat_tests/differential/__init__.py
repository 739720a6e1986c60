"""The oracle: the same seeded requests sent to the gateway and to Apache Kafka, and their answers compared.

steps.py      what a request may name before it exists: topics' ids, producers, fetch sessions
pools.py      values for every field of every request, valid and wrong
wild.py       requests drawn from the declarations of all messages
themes/       requests that belong together: topics, records, offsets, sessions, configs
runner.py     sends the steps to one broker and waits until what they changed can be seen
plain.py      answers as plain data, with ids, times and addresses made the same
compare.py    the differences of two answers, field by field
allowed.py    the differences that stay, each with its reason
recorded.py   Kafka's answers in files, for the short version in `make test`
__main__.py   `make differential`: both brokers live
"""
