"""Verl is told that there is no GPU before anything imports it."""

from steadfast_verl.device import choose

choose("cpu")
