"""The official package keeps servers of its own here; the stand-in has none."""
