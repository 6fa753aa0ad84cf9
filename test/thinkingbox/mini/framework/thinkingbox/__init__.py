"""A stand-in for the official package, for machines without a checkout: as much of it as our bridge uses, written anew.

Tests run against the official package wherever a checkout is given; this one keeps them from being skipped elsewhere.
"""
