"""Group coordination as a pure state machine.

Start at `coordinator.py`, the interface to the rest of the broker; `states.py` has states and transitions.
"""
