"""Every error code of Kafka: the request that provokes it, or why one node without security never gives it.

case.py     a case, and the scene it works on: a broker, a connection, topics of its own
records.py  Produce, Fetch and their like
topics.py   topics, partitions, configs
groups.py   classic groups and those of KIP-848
shares.py   share groups and their sessions
node.py     the node, its versions, features and security
tokens.py   delegation tokens
never.py    codes that do not occur, each with its reason
"""
