"""Other queues, each at its own documented fast settings, measured like this one in the same run."""
