"""`python -m steadfast_trainer serve | make-base | selfcheck`; exit 0 done, 1 failed, 2 wrong usage or unreadable input."""

import os
import sys

from . import ONE_THREAD

for _name in ONE_THREAD:
    os.environ[_name] = "1"

if __name__ == "__main__":
    from .command import main

    sys.exit(main(sys.argv[1:]))
