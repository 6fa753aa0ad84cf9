"""Facts that decide the bytes of a result: recorded in every checkpoint's manifest."""

import ctypes
import glob
import os
import platform

import numpy as np


def numerics() -> dict[str, str]:
    """NumPy version, BLAS name, version and kernel, machine."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "numpy": np.__version__,
        "blas": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
        "kernel": _kernel(),
        "threads": os.environ.get("OPENBLAS_NUM_THREADS", "unset"),
        "machine": platform.machine(),
    }


def _kernel() -> str:
    """Name of the kernel that OpenBLAS chose for this CPU; `unknown` for another BLAS."""
    folder = os.path.join(os.path.dirname(os.path.dirname(np.__file__)), "numpy.libs")
    bundled = os.path.join(os.path.dirname(np.__file__), ".dylibs")
    for path in sorted(glob.glob(f"{folder}/*openblas*") + glob.glob(f"{bundled}/*openblas*")):
        library = ctypes.CDLL(path)
        for symbol in (
            "scipy_openblas_get_corename64_",
            "scipy_openblas_get_corename",
            "openblas_get_corename",
        ):
            if hasattr(library, symbol):
                function = getattr(library, symbol)
                function.restype = ctypes.c_char_p
                return function().decode()
    return "unknown"
