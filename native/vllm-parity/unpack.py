"""Unpacks the Python files of a wheel: python unpack.py WHEEL FOLDER"""

from __future__ import annotations

import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    wheel.extractall(sys.argv[2], [name for name in wheel.namelist() if name.endswith(".py")])
