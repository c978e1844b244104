"""How long a test waits for something that must happen.

A test on a busy machine may be slow, and must not fail for it. So every wait is long; it ends as soon as what
it waits for is there. The limit of a whole test is `timeout` in pyproject.toml, and is longer than one wait.
"""

PATIENCE_S = 120.0
PATIENCE_MS = PATIENCE_S * 1000
