"""The embedded trainer: a small transformer in NumPy that samples, learns, and keeps its own accounts.

One process serves token completions (`engine`, `http_server`), applies updates as a compare-and-swap
(`session`, `update`), and writes checkpoints that verify (`checkpoint`). Everything that decides bytes runs
on one BLAS thread, so the same inputs give the same bytes in another process on the same machine.
"""

#: Version of everything that decides bytes or formats. A checkpoint of another version is refused.
FORMAT_VERSION = "1"

#: Set to 1 before NumPy loads: more than one BLAS thread changes bytes and costs 2.5 times the CPU.
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
