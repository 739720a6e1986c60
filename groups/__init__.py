"""Group coordination as a pure machine.

Start at `coordinator.py`, which is all that others need; `states.py` holds what changes state, and when.
"""
