"""Every error code of Kafka's table: the request that provokes it, or why one open node never answers it.

case.py     what a case is, and what it works on: a broker, a connection, topics of its own
records.py  Produce, Fetch and their like
topics.py   topics, partitions, configs
groups.py   classic groups and those of KIP-848
node.py     the node, its versions, features and security
never.py    codes that do not occur, each with its reason
"""
