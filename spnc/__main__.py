"""`python -m spnc`: the command line."""

import sys

from spnc.cli import main

sys.exit(main())
