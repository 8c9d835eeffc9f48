"""``python -m vanishing``: the command line."""

import sys

from vanishing.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
