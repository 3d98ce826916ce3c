"""Handlers in a process of their own.

A worker has threads, and forking a process with threads is unsafe: a lock that one of them holds stays locked in
the copy for ever. So the worker forks a *fork server* before it starts any (``server``), and that one forks a
process for each job (``process``): in milliseconds, on shared memory, with no lock, connection or thread to
inherit. The worker's thread waits for it (``run``), so that slots, leases and acknowledgements know no difference.

Three sockets connect them. Through the first the worker asks the fork server for processes. Each job's process
has a *talk* with the worker's thread: the job there, bytes of news after it, the outcome back (``messages``). The
fork server has a *lifeline* for each process: the worker's orders to it there, its exit code back. Who finds an
end of these closed knows that the other is gone.
"""
