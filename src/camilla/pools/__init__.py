"""Pools: many learners trained and run together on the same samples."""

from camilla.extras import needing

with needing("training a pool"):
    import joblib as joblib
    import sklearn as sklearn
