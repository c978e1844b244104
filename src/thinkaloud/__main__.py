"""`python -m thinkaloud` is the command `thinkaloud`."""

import sys

from thinkaloud.app import main

sys.exit(main())
