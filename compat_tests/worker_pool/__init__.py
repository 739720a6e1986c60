"""Workers of a share group that take jobs, and are killed, slow or broken, while the server is killed, too.

    python -m compat_tests.worker_pool --jobs 200000

master.py produces the jobs, starts and kills; worker.py is a member that notes what it gets and says; jobs.py
says what becomes of a job; verdict.py reads the notes: each job processed, and twice only for a reason.
"""
