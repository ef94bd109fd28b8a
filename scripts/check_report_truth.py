"""Own formulas, NumPy and SciPy alone, for what a report says: nothing here is taken from camilla."""

import base64
import json
import re
import struct
import zlib
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import brentq, minimize
from scipy.stats import binomtest, f, norm, t, ttest_rel

from camilla.statistics.ranks import shrunk

Z = norm.ppf(0.975)
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "U8": "u1"}


def page_document(page: Path) -> dict[str, Any]:
    """What a report's page carries, without its arrays."""
    text = page.read_text(encoding="utf-8")
    (data,) = re.findall(r'id="data">([^<]*)</script>', text)
    raw = zlib.decompress(base64.b64decode(data))
    length = int.from_bytes(raw[:4], "little")
    document: dict[str, Any] = json.loads(raw[4 : 4 + length])["document"]
    return document


class Raw:
    """A response table as it was given, [learners, samples] with NaN where missing, and its skills."""

    def __init__(
        self,
        learners: list[str],
        samples: list[str],
        matrix: np.ndarray,
        skills: dict[str, np.ndarray] | None = None,
    ) -> None:
        self.learners, self.samples, self.matrix = learners, samples, matrix
        self.skills = skills or {}

    @classmethod
    def wide(
        cls,
        path: Path,
        sample: str,
        *,
        drop: tuple[str, ...] = (),
        skill: str | None = None,
        task: str | None = None,
    ) -> "Raw":
        frame = pl.read_parquet(path)
        names = frame[sample].cast(str).to_list()
        if task:
            names = [f"{one}/{name}" for one, name in zip(frame[task].to_list(), names, strict=True)]
        groups = frame[skill].to_list() if skill else []
        skills = {one: np.array([each == one for each in groups]) for one in dict.fromkeys(groups)}
        aside = {sample, *drop, *(one for one in (skill, task) if one)}
        learners = [name for name in frame.columns if name not in aside]
        return cls(learners, names, frame.select(learners).cast(pl.Float64).to_numpy().T, skills)

    def row(self, learner: str) -> np.ndarray:
        return self.matrix[self.learners.index(learner)]

    @cached_property
    def binary(self) -> bool:
        return bool(np.isin(self.matrix[np.isfinite(self.matrix)], (0, 1)).all())

    def accuracy(self, learner: str) -> tuple[float, float, float]:
        """Mean with Wilson's interval; of fractions with n = p(1 − p)/variance and Student's t."""
        x = self.row(learner)
        x = x[np.isfinite(x)]
        p, n, z = x.mean(), len(x), Z
        if not np.isin(x, (0, 1)).all():
            n, z = p * (1 - p) / (x.var(ddof=1) / n), t.ppf(0.975, n - 1)
        centre = (p + z**2 / (2 * n)) / (1 + z**2 / n)
        half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        return p, centre - half, centre + half

    def rest(self, sample: str) -> tuple[np.ndarray, np.ndarray]:
        """Responses to a sample, and each learner's mean on all others."""
        j = self.samples.index(sample)
        others = np.delete(self.matrix, j, axis=1)
        return self.matrix[:, j], np.array([row[np.isfinite(row)].mean() for row in others])

    @cached_property
    def one_level(self) -> np.ndarray:
        """Expected by Rasch's model, fitted by L-BFGS to the whole likelihood."""
        seen, x = np.isfinite(self.matrix), np.nan_to_num(self.matrix)
        total, place = (
            np.unique(x.sum(axis=0).round(9), return_inverse=True)
            if seen.all()
            else (x.sum(axis=0), np.arange(x.shape[1]))
        )
        count = np.bincount(place) if seen.all() else 1.0
        weight = np.broadcast_to(count, (len(x), len(total))) if seen.all() else seen.astype(float)
        rows, columns = x.sum(axis=1), total * count if seen.all() else x.sum(axis=0)
        n, size = len(rows), len(rows) + len(columns)

        def loss(v: np.ndarray) -> tuple[float, np.ndarray]:
            logit = v[:n, None] - v[n:]
            p = 1 / (1 + np.exp(-logit))
            off = weight * p
            value = (weight * np.logaddexp(0, logit)).sum() - v[:n] @ rows + v[n:] @ columns
            return value, np.concatenate([off.sum(axis=1) - rows, columns - off.sum(axis=0)])

        found = minimize(
            loss, np.zeros(size), jac=True, method="L-BFGS-B", bounds=[(-25, 25)] * size,
            options={"maxiter": 5000, "maxfun": 10000, "ftol": 1e-15, "gtol": 1e-6},
        ).x  # fmt: skip
        return (1 / (1 + np.exp(-(found[:n, None] - found[n:]))))[:, place]

    def profile(self) -> dict[tuple[str, str], tuple[float, float, float]]:
        """observed, expected and two-sided p of each learner on each skill."""
        seen = np.isfinite(self.matrix)
        variance = self.one_level * (1 - self.one_level)
        if not self.binary:
            variance = variance * min(
                1, np.nansum((self.matrix - self.one_level) ** 2) / variance[seen].sum()
            )
        out = {}
        for skill, inside in self.skills.items():
            for i, learner in enumerate(self.learners):
                at = inside & seen[i]
                if not at.any():
                    continue
                observed, expected = self.matrix[i, at].mean(), self.one_level[i, at].mean()
                se = np.sqrt(variance[i, at].sum()) / at.sum()
                if se > 0:
                    out[learner, skill] = observed, expected, 2 * norm.sf(abs(observed - expected) / se)
        return out


class Paired(NamedTuple):
    won: int
    lost: int
    n: int
    mean_first: float
    mean_second: float
    difference: float
    low: float
    high: float
    p: float


def paired(first: np.ndarray, second: np.ndarray) -> Paired | None:
    """McNemar's exact test by SciPy with Tango's interval by root finding, else the paired t test."""
    both = np.isfinite(first) & np.isfinite(second)
    a, b = first[both], second[both]
    if not len(a):
        return None
    won, lost, n = int((a > b).sum()), int((a < b).sum()), len(a)
    ends: tuple[float, float]
    if np.isin(a, (0, 1)).all() and np.isin(b, (0, 1)).all():
        p = binomtest(won, won + lost).pvalue if won + lost else 1.0
        ends = tango(won, lost, n)
    else:
        found = ttest_rel(a, b)
        p, ends = found.pvalue, tuple(found.confidence_interval())
    return Paired(won, lost, n, a.mean(), b.mean(), (a - b).mean(), *ends, p)


def tango(won: int, lost: int, n: int) -> tuple[float, float]:
    """The d with score ±z: (won − lost − n d)/√(n (2q + d(1 − d))), q the restricted maximum likelihood."""
    found = (won - lost) / n

    def score(d: float) -> float:
        a, b, c = 2 * n, -won - lost + (2 * n - won + lost) * d, -lost * d * (1 - d)
        q = (np.sqrt(max(b * b - 4 * a * c, 0)) - b) / (2 * a)
        variance = n * (2 * q + d * (1 - d))
        return float((won - lost - n * d) / np.sqrt(max(variance, 1e-300)))

    def end(edge: float, wanted: float) -> float:
        if abs(score(edge)) <= Z:
            return edge
        return float(brentq(lambda d: score(d) - wanted, *sorted((found, edge)), xtol=1e-12))

    return end(-1 + 1e-12, Z), end(1 - 1e-12, -Z)


def holm(p: np.ndarray) -> np.ndarray:
    order, out, worst = np.argsort(p, kind="stable"), np.empty(len(p)), 0.0
    for k, i in enumerate(order):
        worst = max(worst, min(1.0, (len(p) - k) * p[i]))
        out[i] = worst
    return out


class Draws:
    """A saved posterior: draws of scores, and of the abilities and samples that make them."""

    def __init__(self, folder: Path, learners: list[str]) -> None:
        blob = (folder / "arrays.safetensors").read_bytes()
        (length,) = struct.unpack("<Q", blob[:8])
        self.header, self.blob, self.start = json.loads(blob[8 : 8 + length]), blob, 8 + length
        self.learners = learners
        self.scores = self.array("params.scores").astype(float)

    def array(self, name: str) -> np.ndarray:
        about = self.header[name]
        first, last = about["data_offsets"]
        return np.frombuffer(
            self.blob[self.start + first : self.start + last], DTYPES[about["dtype"]]
        ).reshape(about["shape"])

    def best(self, scores: np.ndarray | None = None) -> np.ndarray:
        scores = self.scores if scores is None else scores
        top = scores == scores.max(axis=1, keepdims=True)
        return (top / top.sum(axis=1, keepdims=True)).mean(axis=0)

    @staticmethod
    def better(scores: np.ndarray, a: int, b: int) -> float:
        gap = scores[:, a] - scores[:, b]
        return float(np.where(gap == 0, 0.5, gap > 0).mean())

    def like_these(self, needs: np.ndarray | None = None) -> np.ndarray:
        """Scores with samples weighted by the Bayesian bootstrap as Camilla draws it, moved to their mean.

        Gamma weights with which a mean over m samples varies as Student's interval on m − 1 df has it.
        `needs` [samples, skills] says which skills a sample needs, where learners have effects on skills.
        """
        ability = self.array("params.ability").astype(np.float32)
        factor = self.array("params.factor").astype(np.float32)
        m = factor.shape[1]
        wanted = (m - 1) * (norm.ppf(0.975) / t.ppf(0.975, m - 1)) ** 2
        weight = np.random.default_rng(0).standard_gamma(max((wanted - 1) / m, 0.05), (len(ability), m))
        weight /= weight.sum(axis=1, keepdims=True)
        logits = [
            sample[:, 1:] @ theta.T + sample[:, :1] for theta, sample in zip(ability, factor, strict=True)
        ]
        if needs is not None and "params.effect" in self.header:
            part = needs / np.maximum(needs.sum(axis=1, keepdims=True), 1)
            logits = [
                logit + part @ effect.T
                for logit, effect in zip(logits, self.array("params.effect").astype(float), strict=True)
            ]
        scores = np.array(
            [share @ (1 / (1 + np.exp(-logit))) for logit, share in zip(logits, weight, strict=True)]
        )
        return np.clip(scores - scores.mean(axis=0) + self.scores.mean(axis=0), 0, 1)

    def effective(self) -> np.ndarray:
        """Geyer's initial positive sequence, learner by learner."""
        return np.array([_effective(column) for column in self.scores.T])


def _effective(x: np.ndarray) -> float:
    n, x = len(x), x - x.mean()
    if not x.any():
        return float(n)
    rho = np.array([x[: n - lag] @ x[lag:] for lag in range(n)]) / (x @ x)
    time = -1.0
    for k in range(n // 2):
        pair = rho[2 * k] + rho[2 * k + 1]
        if pair <= 0:
            break
        time += 2 * pair
    return n / max(time, 1.0)


def score_ends(draws: np.ndarray) -> tuple[float, float, float]:
    """Mean, and Student's interval of one more draw on the logit scale, within the draws."""
    p = np.clip(draws, 1e-6, 1 - 1e-6)
    logit = np.log(p / (1 - p))
    n = max(_effective(logit), 4.0)
    half = t.ppf(0.975, n - 1) * logit.std() * np.sqrt((1 + 1 / n) / (1 - 1 / n))
    low, high = (1 / (1 + np.exp(-(logit.mean() + sign * half))) for sign in (-1, 1))
    return p.mean(), min(max(low, p.min()), p.mean()), max(min(high, p.max()), p.mean())


class Players:
    """EPP from scores [players, rounds]: Bradley and Terry's model, errors clustered by round (CR1)."""

    def __init__(self, names: list[str], scores: np.ndarray) -> None:
        n, rounds = scores.shape
        won = np.where(scores[:, None] == scores[None], 0.5, scores[:, None] > scores[None]).astype(float)
        won[np.arange(n), np.arange(n)] = 0
        total = won.sum(axis=2)

        def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
            p = 1 / (1 + np.exp(b[None] - b[:, None]))
            return -(total * np.log(np.maximum(p, 1e-300))).sum(), (total.T * p - total * (1 - p)).sum(axis=1)

        b = minimize(loss, np.zeros(n), jac=True, method="BFGS", options={"gtol": 1e-9}).x
        b -= b.mean()
        p = 1 / (1 + np.exp(b[None] - b[:, None]))
        information = (total + total.T) * p * (1 - p)
        bread = np.linalg.pinv(np.diag(information.sum(axis=1)) - information)
        played = won + won.transpose(1, 0, 2)
        score = (won - played * p[:, :, None]).sum(axis=1)  # [players, rounds]
        covariance = bread @ (score @ score.T) @ bread * rounds / (rounds - 1)
        order = np.argsort(-b, kind="stable")
        self.names, self.epp, self.df = [names[i] for i in order], b[order], rounds - 1
        self.covariance, self.won = covariance[np.ix_(order, order)], total[np.ix_(order, order)]

    def gap(self, i: int, j: int) -> tuple[float, float, float]:
        """Difference, standard error and Wald's p."""
        c, d = self.covariance, self.epp[i] - self.epp[j]
        se = float(np.sqrt(c[i, i] + c[j, j] - 2 * c[i, j]))
        return d, se, float(f.sf((d / se) ** 2, 1, self.df)) if se > 0 else 1.0

    def tied_with_first(self) -> int:
        """Players from the first down until one differs from any before it, Holm over all pairs."""
        n = len(self.names)
        pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        adjusted = dict(zip(pairs, holm(np.array([self.gap(*pair)[2] for pair in pairs])), strict=True))
        return run_of_ties(n, lambda i, j: adjusted[i, j] <= 0.05)


FLIPS = 4000


def adjusted_by_flips(rows: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Step-down p-values of all pairs of rows [learners, samples], NaN where missing, by signs drawn here.

    Westfall and Young (1993): the largest of the pairs that are not ahead, over flips of samples; at least p.
    """
    n = len(rows)
    i, j = np.triu_indices(n, 1)
    gap = np.nan_to_num(rows[i] - rows[j])
    size = np.sqrt((gap**2).sum(axis=1))
    inverse = np.where(size > 1e-9, 1 / np.maximum(size, 1e-9), 0)
    signs = np.random.default_rng(17).choice([-1.0, 1.0], (FLIPS, rows.shape[1]))
    return _stepped(np.abs(gap.sum(axis=1)) * inverse, np.abs(signs @ gap.T) * inverse, p)


def adjusted_by_draws(scores: np.ndarray) -> np.ndarray:
    """The same from draws of scores [draws, learners]: normal differences with their covariance."""
    n = scores.shape[1]
    i, j = np.triu_indices(n, 1)
    away = scores - scores.mean(axis=0)
    noise = np.random.default_rng(18).standard_normal((FLIPS, len(scores))) @ away / np.sqrt(len(scores) - 1)
    sd = np.maximum((away[:, i] - away[:, j]).std(axis=0, ddof=1), 1e-12)
    found = np.abs(scores.mean(axis=0)[i] - scores.mean(axis=0)[j]) / sd
    return _stepped(found, np.abs(noise[:, i] - noise[:, j]) / sd, np.zeros((n, n)))


def _stepped(found: np.ndarray, drawn: np.ndarray, p: np.ndarray) -> np.ndarray:
    n = len(p)
    i, j = np.triu_indices(n, 1)
    order = np.argsort(-found, kind="stable")
    out, worst = np.ones((n, n)), 0.0
    left = np.maximum.accumulate(drawn[:, order[::-1]], axis=1)[:, ::-1]
    for place, pair in enumerate(order):
        worst = max(worst, float(np.mean(left[:, place] >= found[pair] * (1 - 1e-5))))
        out[i[pair], j[pair]] = out[j[pair], i[pair]] = max(worst, p[i[pair], j[pair]])
    return out


def best_of(rows: np.ndarray) -> np.ndarray:
    """P(best) of rows [learners, samples] of which all are answered: true means N(μ, τ²), τ uniform to ½.

    By drawing differences from their mean given τ on a grid, with Student's noise; copies share a chance.
    """
    n, m = rows.shape
    kinds, of, size = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    k = len(kinds)
    if k == 1:
        return np.full(n, 1 / n)
    centre = np.eye(k) - 1 / k
    own = centre @ kinds
    noise = np.cov(own) / m
    if m < 4 * n:
        factor = (own - own.mean(axis=1, keepdims=True)) * np.sqrt(m / (m - 1)) / m
        noise = shrunk(factor).dense()
    grid = np.linspace(5e-4, 0.5, 1000)
    basis = np.linalg.svd(centre)[0][:, : k - 1]
    power, axes = np.linalg.eigh(basis.T @ noise @ basis)
    y = axes.T @ basis.T @ own.mean(axis=1)
    power = np.maximum(power, 1e-18)
    total = grid[:, None] ** 2 + power
    likely = -0.5 * (np.log(total) + y**2 / total).sum(axis=1)
    chance = np.exp(likely - likely.max())
    rng = np.random.default_rng(19)
    tau = rng.choice(grid, 20_000, p=chance / chance.sum())[:, None]
    spread = power * ((m - 1) / rng.chisquare(m - 1, 20_000))[:, None]
    kept = tau**2 / (tau**2 + spread)
    drawn = y * kept + rng.standard_normal((20_000, k - 1)) * np.sqrt(kept * spread)
    best = np.bincount((drawn @ axes.T @ basis.T).argmax(axis=1), minlength=k) / 20_000
    return (best / size)[of]


def run_of_ties(n: int, differ: Callable[[int, int], bool]) -> int:
    """How many from the first down no test tells apart."""
    last = 1
    while last < n and not any(differ(i, last) for i in range(last)):
        last += 1
    return last
