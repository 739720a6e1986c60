"""Members of three libraries that join, leave and are killed, while producers write and the server is killed.

    python -m compat_tests.churn --minutes 5

master.py starts and kills; worker.py is a process with a few members, which notes what they get and commit;
verdict.py reads the notes: every record at least once, and twice only what was not committed.
"""
