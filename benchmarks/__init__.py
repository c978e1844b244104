"""How fast the core is, measured beside what it is built on and beside a peer; `make bench` runs it."""
