"""The grid of the Camilla paper (Implementation Detail), and settings drawn from it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

RATES = (0.0001, 0.001, 0.005, 0.01)
FIRST_LAYER = (16, 32, 64, 128, 256, 512)
SECOND_LAYER = (16, 32, 64)
LATENT_SKILLS = (5, 10, 20, 50)


def draws(
    name: str, published: Mapping[str, Any], count: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """`count` random settings; those of the grid that the diagnoser does not have are left out."""
    out = []
    for _ in range(count):
        rate, first, second, latent = (
            options[int(rng.integers(len(options)))]
            for options in (RATES, FIRST_LAYER, SECOND_LAYER, LATENT_SKILLS)
        )
        drawn = dict(published)
        if "training" in published:
            drawn["training"] = published["training"]._replace(rate=rate)
        if "hidden" in published:
            drawn["hidden"] = (first, second)
        if "dimensions" in published:
            drawn["dimensions"] = latent
        out.append(drawn)
    return out
