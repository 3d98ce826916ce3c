"""One module a peer: how it is set up, filled and started."""
