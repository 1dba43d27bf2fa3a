"""`python -m soel` is the command `soel`."""

import sys

from soel.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
