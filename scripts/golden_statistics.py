"""Cases of web/test/golden.json, which hold the page's statistics and Python's to SciPy's.

    python scripts/golden_statistics.py

Every number is SciPy's or NumPy's; none is made by camilla.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import scipy
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binom, binomtest, nct, norm
from scipy.stats import t as student

GOLDEN = Path(__file__).parents[1] / "web/test/golden.json"
FLIPS = [
    (0, 0), (1, 0), (0, 5), (6, 5), (5, 6), (9, 2), (8, 19), (30, 30), (0, 40), (71, 103), (400, 300),
    (1000, 900),
]  # fmt: skip
SIZES = (1, 3)  # samples, as multiples of the flips plus 10


def tango_end(won: int, lost: int, n: int, *, side: int) -> float:
    """Where |won − lost − nd| = z √(n (2q + d(1 − d))), q the share lost of the highest likelihood at d.

    The likelihood is multinomial: won of share q + d, lost of share q, neither of share 1 − 2q − d.
    """
    found, z = (won - lost) / n, norm.ppf(0.975)

    def share_lost(d: float) -> float:
        least, most = max(0.0, -d), (1 - d) / 2

        def loss(q: float) -> float:
            shares = np.clip([q + d, q, 1 - 2 * q - d], 1e-300, None)
            return -float(np.dot([won, lost, n - won - lost], np.log(shares)))

        inside = minimize_scalar(loss, bounds=(least, most), method="bounded", options={"xatol": 1e-13})
        return min((least, most, float(inside.x)), key=loss)

    def off(d: float) -> float:
        variance = n * (2 * share_lost(d) + d * (1 - d))
        return (won - lost - n * d) ** 2 - z**2 * variance

    return float(brentq(off, found + side * 1e-9, side * (1 - 1e-12), xtol=1e-12))


DESIGNS = [  # discordance and difference of two right/wrong records
    (0.12, 0.09), (0.3, 0.1), (0.1, 0.02), (0.25, 0.03), (0.04, 0.04), (0.5, 0.05), (0.2, 0.005), (0.9, 0.3),
]  # fmt: skip
MEANS = [(0.4, 0.1), (0.5, 0.02), (0.3, 0.3), (0.25, 0.005)]  # σ and mean of a sample's difference
POWER, ALPHA = 0.8, 0.05


def mcnemar_power(discordance: float, difference: float, n: int) -> float:
    """Σ_m P(m flips) P(the binomial test of m rejects at ALPHA | each flip goes one way with this chance).

    Flips beyond nine standard deviations are left out.
    """
    spread = 9 * np.sqrt(n * discordance * (1 - discordance)) + 1
    last = min(n, int(n * discordance + spread))
    m = np.arange(max(0, int(n * discordance - spread)), last + 1)
    share = binom.pmf(m, n, discordance)
    lean = (discordance + difference) / (2 * discordance)
    rejected = binom.ppf(ALPHA / 2, m, 0.5)
    rejected = np.where(2 * binom.cdf(rejected, m, 0.5) <= ALPHA, rejected, rejected - 1)
    chance = binom.cdf(rejected, m, lean) + binom.cdf(rejected, m, 1 - lean)
    return float(np.sum(share * np.where(rejected < 0, 0, chance)))


def t_power(sd: float, difference: float, n: int) -> float:
    shift, reach = difference * np.sqrt(n) / sd, student.ppf(1 - ALPHA / 2, n - 1)
    return float(nct.sf(reach, n - 1, shift) + nct.sf(reach, n - 1, -shift))


def fewest(enough: Any) -> int:
    """Doubled from 2 until enough, then halved: the power of a discrete test is not quite monotone."""
    high = 2
    while not enough(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def cases() -> dict[str, Any]:
    rng = np.random.default_rng(1)
    numbers = rng.normal(size=31).round(4)
    return {
        "made by": "scripts/golden_statistics.py",
        "versions": {"numpy": np.__version__, "scipy": scipy.__version__},
        "critical": float(norm.ppf(0.975)),
        "mcnemar": [
            {"won": won, "lost": lost, "p": float(binomtest(won, won + lost).pvalue) if won + lost else 1.0}
            for won, lost in FLIPS
        ],
        "tango": [
            {
                "won": won, "lost": lost, "n": n,
                "low": tango_end(won, lost, n, side=-1), "high": tango_end(won, lost, n, side=1),
            }
            for won, lost in FLIPS
            for n in (times * (won + lost) + 10 for times in SIZES)
        ],
        "normal": [
            {"z": z, "cdf": float(norm.cdf(z)), "two_sided": float(2 * norm.sf(abs(z)))}
            for z in (-8.0, -3.0, -1.96, -0.3, 0.0, 0.5, 1.0, 2.5, 5.0)
        ],
        "power": [
            {"discordance": share, "difference": gap, "n": n, "power": mcnemar_power(share, gap, n)}
            for share, gap in DESIGNS
            for n in (30, 400, 3000)
        ],
        "samples": [
            {"discordance": share, "difference": gap,
             "samples": fewest(lambda n, s=share, g=gap: mcnemar_power(s, g, n) >= POWER)}
            for share, gap in DESIGNS
        ],
        "samples_of_means": [
            {"sd": sd, "difference": gap, "samples": fewest(lambda n, s=sd, g=gap: t_power(s, g, n) >= POWER)}
            for sd, gap in MEANS
        ],
        "quantile": [
            {"values": numbers.tolist(), "q": q, "value": float(np.quantile(numbers, q))}
            for q in (0.0, 0.005, 0.25, 0.5, 0.9, 1.0)
        ],
    }  # fmt: skip


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(cases(), indent=1) + "\n", encoding="utf-8")
