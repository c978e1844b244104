"""Benchmarks of the core, next to what it is built on and next to a peer. `make bench` runs them."""
