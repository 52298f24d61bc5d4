"""`python -m portal.cli`, where the command is not installed."""

import sys

from portal.cli.main import main

sys.exit(main())
