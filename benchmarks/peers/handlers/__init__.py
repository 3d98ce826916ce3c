"""The no-op jobs of the peers, apart from the adapters: a worker imports no more than it needs."""
