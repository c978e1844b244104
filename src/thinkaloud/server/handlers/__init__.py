"""What each route does, one module per thing; every function takes a `Call` and returns what to answer."""
