"""Pools: many learners trained and run together on the same samples."""
