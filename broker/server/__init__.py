"""The shell around the broker machine: sockets, clocks, threads and signals.

reactor.py     one epoll inside trio: reads, turns of the machine, gathered writes
acceptor.py    new connections, within the limits
transport.py   one client's socket: receive, send, sendfile
workers.py     threads that run the disk jobs
listeners.py   the addresses the server listens on and those its clients learn
run.py         start, serve until a signal, stop cleanly

Nothing is imported here: the web console, a process of its own, takes HTTP and the log from this package, and
would bring the whole broker with them.
"""
