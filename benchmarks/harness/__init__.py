"""What the benchmarks share: servers, worker processes, the counter of handlers, results."""
