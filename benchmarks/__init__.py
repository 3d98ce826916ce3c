"""How fast the queue is on this machine: one command each, ``python -m benchmarks.drain`` for one."""
