"""`python -m thinkaloud` is the command `thinkaloud`."""

import sys

from thinkaloud.cli import main

sys.exit(main())
