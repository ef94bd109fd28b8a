"""What has to hold for each statement of a report: a rule per kind, by the formulas of check_report_truth."""

import json
import math
import re
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import norm

from check_report_truth import (
    Draws,
    Paired,
    Raw,
    adjusted_by_draws,
    adjusted_by_flips,
    best_of,
    holm,
    paired,
    score_ends,
)

Truth = dict[str, Any]  # of each number: what it should be, as a number, as text, or (number, tolerance)
DRAWN = 0.03  # of a probability that was drawn anew here
UNSURE = 0.02  # of an adjusted p-value that was drawn anew here
SEEN = re.compile(r"answer alike on (\d+) of (\d+) samples")


class False_(Exception):  # noqa: N801, N818
    """A statement that does not hold."""


def need(holds: bool, why: str) -> None:
    if not holds:
        raise False_(why)


def shown(text: str) -> tuple[float, float]:
    """A number as a reader takes it, and half its last digit."""
    if text in ("No", "none"):
        return 0.0, 0.0
    if text.startswith("over 99"):
        return 0.995, 0.005
    if text.startswith("under 1"):
        return 0.005, 0.005
    if text.startswith("p < "):
        return float(text[4:]) / 2, float(text[4:]) / 2
    if text.startswith("p = "):
        value = float(text[4:])
        return value, 0.05 * 10 ** math.floor(math.log10(value)) if value > 0 else 0.0
    plain = text.replace("\N{MINUS SIGN}", "-").replace(",", "").removeprefix("+")
    scale = 100.0 if plain.endswith("%") else 1.0
    plain = plain.rstrip("%").strip()
    digits = len(plain.partition(".")[2])
    return float(plain) / scale, 0.5 * 10.0**-digits / scale


def compare_numbers(said: dict[str, Any], truth: Truth) -> None:
    """Every number of a statement is known here, is in its sentence, and is true but for rounding."""
    for name, number in said["numbers"].items():
        text = number["text"]
        need(text in said["text"], f"{name}: {text!r} is not in the sentence")
        need(name in truth, f"{name}: nothing here recomputes it")
        wanted = truth[name]
        if isinstance(wanted, str):
            need(text == wanted, f"{name}: {text!r} is said, {wanted!r} is true")
            continue
        right, tolerance = wanted if isinstance(wanted, tuple) else (wanted, 1e-6)
        shares = ("difference", "lost") if said["kind"].startswith("features") else ("difference",)
        points = 100.0 if said["kind"] in POINTS and name.startswith(shares) else 1.0
        value, rounding = shown(text)
        off = abs(value - points * right)
        need(
            off <= rounding * 1.0001 + points * tolerance,
            f"{name}: {text} is said, {points * right:.6g} is true",
        )
        sent = number["value"]
        if sent is not None and text not in ("No", "none") and "–" not in text:
            need(
                abs(sent - right) <= max(tolerance, 1e-4 * abs(right)),
                f"{name}: {sent} is sent, {right:.6g} is true",
            )


POINTS = (
    "pair",
    "skill pair",
    "compare better",
    "compare worse",
    "compare probably better",
    "compare probably worse",
    "compare tied",
    "route better",
    "route not better",
    "committee better",
    "no committee better",
    "features most",
)


class Checked:
    """A diagnosis beside its raw table."""

    def __init__(self, raw: Raw, folder: Path) -> None:
        self.raw = raw
        document = json.loads((folder / "diagnosis.json").read_text().split("\n", 1)[1])
        self.made = document["provenance"]
        self.sample_names, self.skill_names = document["samples"], document["skills"]
        self.frame = pl.read_parquet(folder / "learners.parquet")
        self.board: list[str] = self.frame["learner"].to_list()
        self.draws = None
        if self.made.get("effective_draws"):
            names = document["learner_names"] if "learner_names" in document else document["learners"]
            self.draws = Draws(folder, names)
        self.is_score = str(self.made["estimand"]).startswith("expected score")

    def drawn(self, learner: str) -> int:
        assert self.draws is not None
        return self.draws.learners.index(learner)

    def ability(self, learner: str) -> Truth:
        if self.draws is None:
            row = self.frame.filter(learner=learner).row(0, named=True)
            return {"ability": row["ability"], "ability_low": row["low"], "ability_high": row["high"]}
        return _ends(self.draws.scores, self.like_these, self.drawn(learner))

    @cached_property
    def like_these(self) -> np.ndarray:
        assert self.draws is not None
        if not self.raw.skills or any(name not in self.raw.skills for name in self.skill_names):
            return self.draws.like_these()
        place = [self.raw.samples.index(name) for name in self.sample_names]
        needs = np.column_stack([self.raw.skills[name][place] for name in self.skill_names])
        return self.draws.like_these(needs.astype(float))

    @cached_property
    def rows(self) -> np.ndarray:
        """Responses in the order of the board."""
        return np.array([self.raw.row(name) for name in self.board])

    @property
    def by_responses(self) -> bool:
        """Whether the responses decide who is told apart."""
        return self.is_score and bool(np.isfinite(self.rows).all())

    @cached_property
    def adjusted(self) -> np.ndarray:
        """p of every pair, adjusted over all pairs, in the order of the board."""
        n = len(self.board)
        if self.by_responses:
            p = np.ones((n, n))
            for i in range(n):
                for j in range(i):
                    one = paired(self.rows[i], self.rows[j])
                    p[i, j] = p[j, i] = 1.0 if one is None else one.p
            return adjusted_by_flips(self.rows, p)
        if self.draws is not None:
            return adjusted_by_draws(self.like_these[:, [self.drawn(name) for name in self.board]])
        ability, se = (self.frame[name].to_numpy() for name in ("ability", "se"))
        gap, spread = ability[:, None] - ability, np.sqrt(se[:, None] ** 2 + se**2)
        upper = np.triu_indices(n, 1)
        out = np.ones((n, n))
        out[upper] = holm(2 * norm.sf(np.abs(gap) / spread)[upper])
        out.T[upper] = out[upper]
        return out

    def tied(self) -> tuple[int, int]:
        """How many others are not told apart from the first: at least and at most, as draws leave open."""
        slack = 0.0 if self.draws is None and not self.by_responses else UNSURE
        first = self.adjusted[0, 1:]
        return int((first >= 0.05 + slack).sum()), int((first >= 0.05 - slack).sum())

    @cached_property
    def best(self) -> dict[str, float]:
        """P(best) of every learner."""
        if self.by_responses:
            return dict(zip(self.board, best_of(self.rows).tolist(), strict=True))
        assert self.draws is not None
        share = self.draws.best(self.like_these)
        return {name: float(share[self.drawn(name)]) for name in self.board}

    def skill_pairs(self, first: str, second: str) -> dict[str, Paired]:
        a, b = self.raw.row(first), self.raw.row(second)
        found = {skill: paired(a[inside], b[inside]) for skill, inside in self.raw.skills.items()}
        return {skill: one for skill, one in found.items() if one is not None}

    def order(self) -> np.ndarray:
        """Raw means in the order of the board."""
        return np.array([self.raw.accuracy(name)[0] for name in self.board])


def ranks(high: int) -> str:
    return "1" if high == 1 else f"1–{high}"


def _ends(scores: np.ndarray, draws: np.ndarray, place: int) -> Truth:
    value, low, high = score_ends(draws[:, place])
    value = scores[:, place].mean()
    low, high = min(low, value), max(high, value)
    return {"ability": (value, 1e-5), "ability_low": (low, 1e-5), "ability_high": (high, 1e-5)}


def _between(tied: tuple[int, int]) -> tuple[float, float]:
    return (tied[0] + tied[1]) / 2, (tied[1] - tied[0]) / 2


def _chance(share: float) -> tuple[float, float]:
    """A share of draws, and how far other draws may be from it."""
    return share, DRAWN + 4 * math.sqrt(share * (1 - share) / 1000)


def _lead(said: dict[str, Any], of: Checked) -> Truth:
    need(said["names"]["leader"] == of.board[0], "another learner leads")
    if of.draws is not None:
        mean = of.draws.scores.mean(axis=0)
        need(mean[of.drawn(of.board[0])] >= mean.max() - 1e-6, "another learner has a higher mean of draws")
    least, most = of.tied()
    kinds = {"sure lead" if tied == 0 else "tied lead" for tied in (least, most)}
    need(said["kind"] in kinds, f"it is a {' or a '.join(sorted(kinds))}")
    known = of.by_responses or of.draws is not None
    return {
        "learners": len(of.raw.learners),
        "others": len(of.raw.learners) - 1,
        "p_best": _chance(of.best[of.board[0]]) if known else None,
        "tied": _between((least, most)),
    }


def _leader(said: dict[str, Any], of: Checked) -> Truth:
    name = said["names"]["leader"]
    mean, low, high = of.raw.accuracy(name)
    row = of.raw.row(name)
    truth = {"accuracy": mean, "accuracy_low": low, "accuracy_high": high, "samples": len(of.raw.samples)}
    return truth | of.ability(name) | {"right": np.nansum(row), "n": int(np.isfinite(row).sum())}


def _on_these(said: dict[str, Any], of: Checked) -> Truth:
    assert of.draws is not None
    return _ends(of.draws.scores, of.draws.scores, of.drawn(said["names"]["leader"]))


def _tie(said: dict[str, Any], of: Checked) -> Truth:
    n = len(of.board)
    named = [name for key, name in said["names"].items() if key != "leader"]
    for name in named:
        p = of.adjusted[0, of.board.index(name)]
        need(p >= 0.05 - UNSURE, f"{name} is told apart from the first")
    return {"tied": _between(of.tied()), "pairs": n * (n - 1) // 2}


def _p_best(said: dict[str, Any], of: Checked) -> Truth:
    own = [of.best[name] for name in said["names"].values()]
    need(own[0] >= max(of.best.values()) - 2 * DRAWN, "another is likelier to be the best")
    return {f"p_best {k}": _chance(share) for k, share in enumerate(own)}


def _better(said: dict[str, Any], of: Checked) -> Truth:
    first, second = said["names"]["first"], said["names"]["second"]
    if of.draws is not None:
        return {"better": of.draws.better(of.like_these, of.drawn(first), of.drawn(second))}
    rows = [of.frame.filter(learner=name).row(0, named=True) for name in (first, second)]
    return {
        "better": float(
            norm.cdf((rows[0]["ability"] - rows[1]["ability"]) / math.hypot(rows[0]["se"], rows[1]["se"]))
        )
    }


def _pair(said: dict[str, Any], of: Checked) -> Truth:
    first, second = said["names"]["first"], said["names"]["second"]
    if "skill" in said["names"]:
        return paired_truth(of.skill_pairs(first, second)[said["names"]["skill"]])
    found = paired(of.raw.row(first), of.raw.row(second))
    assert found is not None
    return paired_truth(found)


def paired_truth(found: Paired) -> Truth:
    return found._asdict() | {"shared": found.n, "difference_low": found.low, "difference_high": found.high}


def _skill_gap(said: dict[str, Any], of: Checked) -> Truth:
    other = said["names"]["other"]
    need(said["names"]["leader"] == of.board[0], "other learners are meant")
    place, p = of.board.index(other), of.adjusted[0]
    if "outside its tie" in said["text"]:
        need(p[place] < 0.05 + UNSURE and (p[1:place] >= 0.05 - UNSURE).all(), "another is the first outside")
    else:
        need(place == 1, "other learners are meant")
    pairs = of.skill_pairs(of.board[0], other)
    adjusted = dict(zip(pairs, holm(np.array([one.p for one in pairs.values()])), strict=True))
    least = min(one.p for one in pairs.values())
    skill = said["names"]["skill"]
    need(pairs[skill].p <= least * (1 + 1e-9), "another skill differs more clearly")
    level = [name for name, one in pairs.items() if one.p <= least * (1 + 1e-9)]
    widest = max(abs(pairs[name].difference) for name in level)
    need(abs(pairs[skill].difference) >= widest - 1e-12, "another skill with the same p has a wider gap")
    need((said["kind"] == "skill gap") == (adjusted[skill] < 0.05), f"adjusted p is {adjusted[skill]:.3g}")
    means = {"mean_first": pairs[skill].mean_first, "mean_second": pairs[skill].mean_second}
    return means | {"p": adjusted[skill], "tried": len(pairs)}


def _strengths(said: dict[str, Any], of: Checked) -> Truth:
    cells = of.raw.profile()
    adjusted = dict(zip(cells, holm(np.array([one[2] for one in cells.values()])), strict=True))
    sure = {learner for (learner, _), p in adjusted.items() if p < 0.05}
    if not sure:
        return {"sure": 0}
    at = said["names"]["learner"], said["names"]["skill"]
    need(cells[at][2] <= min(one[2] for one in cells.values()) * 1.01 + 1e-300, "another cell is clearer")
    size = int((of.raw.skills[at[1]] & np.isfinite(of.raw.row(at[0]))).sum())
    need(f"{size:,} samples" in said["text"], f"it has {size} samples")
    observed, expected, _ = cells[at]
    found = {"observed": observed, "expected": (expected, 2e-4), "p": (adjusted[at], 0.01 * adjusted[at])}
    return found | {"sure": len(sure), "learners": len(of.board)}


def _counting(said: dict[str, Any], of: Checked) -> Truth:
    mean, n = of.order().round(12), len(of.board)
    sign = np.sign(mean[:, None] - mean)
    upper = sign[np.triu_indices(n, 1)]
    counts = {
        "against": int((upper < 0).sum()),
        "level": int((upper == 0).sum()),
        "pairs": len(upper),
        "alike": int((upper > 0).sum()),
    }
    if "learner" not in said["names"]:
        return counts
    first, last = 1 + (sign < 0).sum(axis=1), n - (sign > 0).sum(axis=1)
    away = np.maximum(np.maximum(first - np.arange(1, n + 1), np.arange(1, n + 1) - last), 0)
    i = of.board.index(said["names"]["learner"])
    need(away[i] == away.max(), "another learner is farther away")
    return counts | {
        "rank": i + 1,
        "by_accuracy": f"{first[i]}" if first[i] == last[i] else f"{first[i]}–{last[i]}",
    }


def _contradicting(said: dict[str, Any], of: Checked) -> Truth:
    """`camilla items` decides how many there are; that most, or the able, fail those named is seen here."""
    for name in said["names"].values():
        given, rest = of.raw.rest(name)
        seen = np.isfinite(given)
        most = given[seen].mean() < 0.5
        need(
            most or np.corrcoef(given[seen], rest[seen])[0, 1] < 0,
            f"{name}: neither most nor the able fail it",
        )
    n = said["numbers"]["samples"]["value"]
    need(min(n, 5) == len(said["names"]), "not as many are named as there are")
    return {"samples": n, "of": len(of.raw.samples)}


def _sample(said: dict[str, Any], of: Checked) -> Truth:
    given, rest = of.raw.rest(said["names"]["sample"])
    seen = np.isfinite(given)
    if not of.raw.binary:
        return {"correlation": float(np.corrcoef(given[seen], rest[seen])[0, 1])}
    return {
        "right": int(np.nansum(given)),
        "n": int(seen.sum()),
        "rest_right": rest[given == 1].mean(),
        "rest_wrong": rest[given == 0].mean(),
    }


def _unanimous(wanted: float) -> Callable[[dict[str, Any], Checked], Truth]:
    def rule(said: dict[str, Any], of: Checked) -> Truth:
        matrix = of.raw.matrix
        alike = (np.where(np.isfinite(matrix), matrix, wanted) == wanted).all(axis=0) & np.isfinite(
            matrix
        ).any(axis=0)
        return {"samples": int(alike.sum())}

    return rule


def _fit(said: dict[str, Any], of: Checked) -> Truth:
    seen = np.isfinite(of.raw.matrix)
    need(said["text"].startswith(of.made["diagnoser"]), "another diagnoser was fitted")
    return {"responses": int(seen.sum()), "missing": 1 - seen.mean()}


def _arrived(said: dict[str, Any], of: Checked) -> Truth:
    need((said["kind"] == "converged") == of.made["converged"], "it is the other way round")
    if of.draws is None:
        return {}
    worth = of.draws.effective()
    need(not of.made["converged"] or np.median(worth) >= 20, "the draws are worth fewer than 20")
    return {"draws": len(of.draws.scores), "median": (np.median(worth), 1.0), "least": (worth.min(), 1.0)}


def _note(said: dict[str, Any], of: Checked) -> Truth:
    """A note is the diagnosis' own; that learners answer alike is counted again."""
    text = said["text"]
    if found := SEEN.search(text):
        names = [name for name in of.raw.learners if f"'{name}'" in text]
        need(len(names) > 1, "the learners that answer alike are not in the table")
        rows = np.array([of.raw.row(name) for name in names])
        alike = int((np.isfinite(rows).all(axis=0) & (rows == rows[0]).all(axis=0)).sum())
        need(
            (int(found[1]), int(found[2])) == (alike, int(np.isfinite(rows).all(axis=0).sum())),
            f"they answer alike on {alike}",
        )
    return {}


def _nothing(said: dict[str, Any], of: Checked) -> Truth:
    return {"samples": len(of.raw.samples)}


def _highest(said: dict[str, Any], of: Checked) -> Truth:
    """Nothing is tested without standard errors: only who has the highest ability is said."""
    need(said["names"]["leader"] == of.board[0], "another learner is first")
    need(of.frame["ability"][0] == of.frame["ability"].max(), "another learner has a higher ability")
    return {"learners": len(of.raw.learners)}


def _not_judged(said: dict[str, Any], of: Checked) -> Truth:
    need(len(of.raw.learners) < 3 and str(len(of.raw.learners)) in said["text"], "there are learners enough")
    return {}


RULES: dict[str, Callable[[dict[str, Any], Checked], Truth]] = {
    "only": _highest,
    "highest": _highest,
    "sure lead": _lead,
    "tied lead": _lead,
    "leader": _leader,
    "next": lambda said, of: of.ability(said["names"]["other"]),
    "estimands": _nothing,
    "on these": _on_these,
    "tie": _tie,
    "p_best": _p_best,
    "better": _better,
    "pair": _pair,
    "skill pair": _pair,
    "skill gap": _skill_gap,
    "no skill gap": _skill_gap,
    "strengths": _strengths,
    "one level": _nothing,
    "counting": _counting,
    "pairs": _counting,
    "contradicting": _contradicting,
    "not judged": _not_judged,
    "only ordered": _nothing,
    "sample": _sample,
    "nobody": _unanimous(0),
    "everybody": _unanimous(1),
    "fit": _fit,
    "converged": _arrived,
    "not converged": _arrived,
    "note": _note,
}


def every(statement: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield statement
    for one in statement["evidence"]:
        yield from every(one)


def statements(section: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All statements of a diagnosis' section, of a board, a comparison or an experiment."""
    tops = [section["verdict"]] if section.get("verdict") else []
    tops += list(section.get("verdicts", {}).values())
    tops += [one for finding in section.get("findings", []) for one in finding["statements"]]
    for top in tops:
        yield from every(top)


def false_statements(
    section: dict[str, Any], rule: Callable[[dict[str, Any]], Truth]
) -> tuple[int, list[str]]:
    """How many statements were checked, and which do not hold."""
    n, out = 0, []
    for said in statements(section):
        n += 1
        try:
            compare_numbers(said, rule(said))
        except (False_, KeyError, ValueError) as error:
            out.append(
                f"{said['kind']}: {said['text']!r}: {error if isinstance(error, False_) else repr(error)}"
            )
    return n, out


def of_diagnosis(section: dict[str, Any], raw: Raw, folder: Path) -> tuple[int, list[str]]:
    of = Checked(raw, folder)

    def rule(said: dict[str, Any]) -> Truth:
        need(said["kind"] in RULES, "no rule recomputes this kind")
        return RULES[said["kind"]](said, of)

    return false_statements(section, rule)
