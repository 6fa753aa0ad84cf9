"""`python -m steadfast_verl serve`; exit 0 done, 1 failed, 2 wrong usage or unreadable input."""

import os
import sys

# A model folder is complete, or it is refused: nothing is ever fetched from a hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

if __name__ == "__main__":
    from .command import main

    sys.exit(main(sys.argv[1:]))
