"""`python -m steadfast_torch serve`; exit 0 done, 1 failed, 2 wrong usage or unreadable input."""

import os
import sys

#: Read when CUDA's library of products loads: without it two runs on one GPU give other bytes.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
# A model folder is complete, or it is refused: nothing is ever fetched from a hub.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

if __name__ == "__main__":
    from .command import main

    sys.exit(main(sys.argv[1:]))
