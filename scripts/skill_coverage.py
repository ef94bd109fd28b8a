"""Are abilities per skill right, and do their intervals cover? Worlds with a known truth, nothing named.

    python scripts/skill_coverage.py OUT.json [--worlds 40] [--jobs 2] [--only GROUP …]

Worlds: logit = a (θ − d) + a Σₖ wⱼₖ uᵢₖ with θ ~ N(0, 1), log a ~ N(0, .3²), u ~ N(0, sd²), d ~ N(.7 hₖ, 1)
with h ~ N(0, 1), so that skills are of unequal difficulty. Diagnosed with `camilla.diagnose(table)`. Counted
per cell: 95 % intervals of the score on each skill on these samples, on samples like these, and overall; the
error per skill and of the profile (a skill minus the learner's mean of skills) over that of plain accuracy;
P(best) on each skill, as the report's page Choose has it.
New learners are placed with all samples and with 30, for samples like these. Quoted in
docs/design/skill-effects.md.

A cell of many learners and skills counts hundreds of intervals per world: it gets as many worlds as hold
`--least` intervals, and never fewer than eight.
"""

import argparse
import json
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import camilla
from camilla.arrays import one_blas_thread, sigmoid
from camilla.show.report.choosing import accuracy_draws
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillMap

NEW, FRESH = 4, 20_000  # learners placed; samples that stand for "samples like these"


class World(NamedTuple):
    learners: int
    skills: int
    per_skill: int
    sd: float
    kind: str = "plain"

    @property
    def label(self) -> str:
        return f"{self.learners} × {self.skills} × {self.per_skill}, sd {self.sd:g}, {self.kind}"


SDS = (0.0, 0.3, 0.8, 1.5)
GROUPS = {
    "small": [World(n, s, m, sd) for n in (8, 20) for s in (2, 4, 10) for m in (20, 100) for sd in SDS],
    "many": [World(n, 30, m, sd) for n in (8, 20) for m in (20, 100) for sd in SDS],
    "wide": [World(n, s, m, sd) for n in (60, 100) for s in (2, 4, 10) for m in (20, 100) for sd in SDS],
    "large": [World(n, 30, m, sd) for n in (60, 100) for m in (20, 100) for sd in SDS],
    "kinds": [
        World(n, s, m, sd, kind)
        for kind in ("two skills", "guessing", "missing", "fractional", "clusters")
        for n, s, m in ((20, 4, 100), (60, 10, 20))
        for sd in SDS
    ],
}


class Samples(NamedTuple):
    """Skills and factors of samples, and which cluster each is in."""

    needs: Any  # [samples, skills]
    slope: Any
    level: Any
    cluster: Any


def samples(world: World, per_skill: int, ease: Any, rng: np.random.Generator) -> Samples:
    m = world.skills * per_skill
    skill = np.arange(m) % world.skills
    needs = np.eye(world.skills, dtype=bool)[skill]
    if world.kind == "two skills":
        other = (skill + 1 + rng.integers(0, world.skills - 1, m)) % world.skills
        needs = needs | np.eye(world.skills, dtype=bool)[other]
    share = needs / needs.sum(axis=1, keepdims=True)
    cluster = np.arange(m) // world.skills // 5 * world.skills + skill  # five samples of one skill
    level = rng.standard_normal(m) + 0.7 * share @ ease
    return Samples(needs, np.exp(0.3 * rng.standard_normal(m)), level, cluster)


def chances(world: World, of: Samples, ability: Any, effect: Any, rng: np.random.Generator) -> Any:
    share = of.needs / of.needs.sum(axis=1, keepdims=True)
    logit = of.slope[:, None] * (ability - of.level[:, None] + share @ effect.T)
    if world.kind == "clusters":
        logit = logit + 0.5 * rng.standard_normal((int(of.cluster.max()) + 1, len(ability)))[of.cluster]
    p = sigmoid(logit)
    return 0.2 + 0.8 * p if world.kind == "guessing" else p


def table_of(world: World, response: Any, of: Samples) -> ResponseTable:
    sample, learner = np.nonzero(~np.isnan(response))
    names = (
        tuple(f"l{i:03d}" for i in range(response.shape[1])),
        tuple(f"s{j:05d}" for j in range(len(response))),
    )
    clusters = tuple(f"c{c}" for c in of.cluster) if world.kind == "clusters" else None
    table = ResponseTable(
        *names, learner, sample, response[sample, learner], np.ones(len(sample)), cluster=clusters
    )
    return table.with_skills(SkillMap(tuple(f"k{k:02d}" for k in range(world.skills)), of.needs))


def in_order(found: camilla.Diagnosis) -> list[Any]:
    """The samples of each skill, in the order of the skills' names."""
    rows = {found.skill_names[k]: rows for k, rows in found.skill_samples()}
    return [rows[name] for name in sorted(rows)]


def by_skill(frame: Any, names: tuple[str, ...], column: str) -> Any:
    """[learners, skills]"""
    wide = frame.pivot("skill", index="learner", values=column).sort("learner")
    return wide.select(sorted(set(frame["skill"]))).to_numpy().astype(float)[np.argsort(np.argsort(names))]


def one(world: World, seed: int) -> dict[str, Any]:
    """What was covered, and how far ability and accuracy were off."""
    rng = np.random.default_rng([seed, world.learners, world.skills, world.per_skill, round(10 * world.sd)])
    n = world.learners + NEW
    ability, effect = rng.standard_normal(n), world.sd * rng.standard_normal((n, world.skills))
    ease = rng.standard_normal(world.skills)
    of = samples(world, world.per_skill, ease, rng)
    p = chances(world, of, ability, effect, rng)
    fresh = samples(world, FRESH // world.skills, ease, rng)
    beyond = chances(world, fresh, ability, effect, rng)
    response = rng.beta(4 * p, 4 * (1 - p)) if world.kind == "fractional" else (rng.random(p.shape) < p) * 1.0
    if world.kind == "missing":
        response[rng.random(p.shape) < 0.3] = np.nan
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")
        start = time.process_time()
        table = table_of(world, response[:, : world.learners], of)
        found = camilla.diagnose(table, seed=seed, progress=False)
        seconds = time.process_time() - start
        skills = in_order(found)
        order = [found.sample_names.index(name) for name in table.samples]
        back = np.argsort(order)  # the diagnosis's samples in the table's order
        truth = truth_of(p[back], skills)[: world.learners]
        like = np.column_stack([beyond[of_skill].mean(axis=0) for of_skill in fresh.needs.T])
        placed_truth = (truth_of(p[back], skills)[world.learners :], like[world.learners :])
        like = like[: world.learners]
        these, likes = _on_skills(found, skills, False), _on_skills(found, skills, True)
        accuracy = by_skill(found.skills, found.learner_names, "accuracy")
        overall = found.ability_on(found.pool, np.arange(len(order)))  # on these samples
        whole = p[:, : world.learners].mean(axis=0)
        out = {
            "skill": _inside(these, truth),
            "skill like these": _inside(likes, like),
            "overall": _inside([overall], whole[:, None]),
            "square": _square(these[0], truth),
            "plain": _square(accuracy, truth),
            "profile": _square(_apart(these[0]), _apart(truth)),
            "plain profile": _square(_apart(accuracy), _apart(truth)),
            "best": _best(found, skills, like),
            "seconds": seconds,
        }
        for most in (len(p), 30):
            label = "all" if most == len(p) else "30"
            out |= _placed(found, response[:, world.learners :], placed_truth, most, label, rng)
    return out


def _on_skills(found: camilla.Diagnosis, skills: Any, like_these: bool) -> Any:
    """Value, low and high: [learners, skills] each."""
    from camilla.statistics.posterior import estimates

    draws = found.score_draws if like_these else found.pool.draws.on
    parts = [estimates(draws(rows)) for rows in skills]
    return [np.column_stack([getattr(part, name) for part in parts]) for name in ("value", "low", "high")]


def _best(found: camilla.Diagnosis, skills: Any, truth: Any) -> list[tuple[float, bool]]:
    """P(best) of the likeliest learner on each skill, on samples like these, and whether it is the best."""
    pairs = []
    for rows, score in zip(skills, truth.T, strict=True):
        draws = accuracy_draws(found, [rows], 200)[:, :, 0]  # those that the report's page Choose has
        share = np.bincount(draws.argmax(axis=1), minlength=draws.shape[1]) / len(draws)
        pairs.append((float(share.max()), bool(share.argmax() == score.argmax())))
    return pairs


def _inside(found: Any, truth: Any) -> tuple[float, int]:
    if len(found) == 1:
        found = [found[0][name].to_numpy()[:, None] for name in ("ability", "low", "high")]
    return float(np.mean((found[1] <= truth) & (truth <= found[2]))), truth.size


def _square(value: Any, truth: Any) -> float:
    return float(np.nanmean((value - truth) ** 2))


def _apart(value: Any) -> Any:
    return value - np.nanmean(value, axis=1, keepdims=True)


def truth_of(p: Any, skills: list[Any]) -> Any:
    """Mean chances on the samples of each skill: [learners, skills]."""
    return np.column_stack([p[rows].mean(axis=0) for rows in skills])


def _placed(
    found: camilla.Diagnosis, response: Any, truth: tuple[Any, Any], most: int, label: str,
    rng: np.random.Generator,
) -> dict[str, Any]:  # fmt: skip
    """Intervals are for samples like these, errors are on these samples."""
    hits, square, plain = [], [], []
    for i, x in enumerate(response.T):
        kept = rng.permutation(np.flatnonzero(~np.isnan(x)))[:most]
        frame = {"learner": ["new"] * len(kept), "sample": [f"s{j:05d}" for j in kept], "response": x[kept]}
        rows = found.place_skills(pl.DataFrame(frame)).sort("skill")
        value, low, high = (rows[name].to_numpy() for name in ("ability", "low", "high"))
        accuracy = (
            rows["accuracy"].cast(float).fill_null(float(x[kept].mean())).fill_nan(float(x[kept].mean()))
        )
        hits.append((low <= truth[1][i]) & (truth[1][i] <= high))
        square.append((value - truth[0][i]) ** 2)
        plain.append((accuracy.to_numpy() - truth[0][i]) ** 2)
    return {
        f"placed {label}": (float(np.mean(hits)), int(np.size(hits))),
        f"placed {label} square": float(np.mean(square)),
        f"placed {label} plain": float(np.mean(plain)),
    }


def summary(world: World, found: list[dict[str, Any]]) -> dict[str, Any]:
    def ratio(one: str, other: str) -> float:
        return float(np.sqrt(np.mean([f[one] for f in found]) / np.mean([f[other] for f in found])))

    shares = ("skill", "skill like these", "overall", "placed all", "placed 30")
    return {
        **world._asdict(),
        "worlds": len(found),
        **{key: float(np.mean([f[key][0] for f in found])) for key in shares},
        "error": ratio("square", "plain"),
        "profile error": ratio("profile", "plain profile"),
        "placed error": {k: ratio(f"placed {k} square", f"placed {k} plain") for k in ("all", "30")},
        "best": _counted([pair for f in found for pair in f["best"]]),
        "seconds": float(np.mean([f["seconds"] for f in found])),
    }


SURE = 0.9  # P(best) that is said


def _counted(pairs: list[tuple[float, bool]]) -> dict[str, int]:
    """How often P(best) was said to be at least .9, and how often that learner was the best."""
    right = [is_best for said, is_best in pairs if said >= SURE]
    return {"sure": len(right), "right": int(np.sum(right))}


MARKS = "<!-- coverage -->", "<!-- end of coverage -->"
COLUMNS = ("skill like these", "skill", "overall", "placed all", "placed 30", "error", "profile error")


def page(done: dict[str, Any]) -> str:
    """Cells by kind, pool and skills; in each the figures at sd 0, .3, .8 and 1.5."""
    rows = [
        "| learners × skills × samples per skill | worlds | like these | these | overall | placed, all "
        "| placed, 30 | error | profile |",
        "|---|---|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    kinds: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for cell in done.values():
        key = (cell["kind"], cell["learners"], cell["skills"], cell["per_skill"])
        kinds.setdefault(key, []).append(cell)
    for (kind, learners, skills, per_skill), unordered in kinds.items():
        cells = sorted(unordered, key=lambda cell: cell["sd"])
        label = f"{learners} × {skills} × {per_skill}" + ("" if kind == "plain" else f", {kind}")
        columns = [" / ".join(f"{cell[name]:.3f}".lstrip("0") for cell in cells) for name in COLUMNS]
        rows.append(f"| {label} | {max(cell['worlds'] for cell in cells)} | {' | '.join(columns)} |")
    differing = [cell for cell in done.values() if cell["sd"] > 0]
    shares = [cell["skill like these"] for cell in done.values()]
    sure, right = (sum(cell["best"][name] for cell in done.values()) for name in ("sure", "right"))
    head = (
        f"{len(done)} cells. For samples like these, the mean over cells with effects is "
        f"{np.mean([cell['skill like these'] for cell in differing]):.3f} and the lowest cell has "
        f"{min(shares):.3f}; on these samples {np.mean([cell['skill'] for cell in differing]):.3f} and "
        f"{min(cell['skill'] for cell in done.values()):.3f}. Of {sure} skills where P(best) was at least "
        f".9, that learner was the best in {right}. Figures in a column are for sd 0 / .3 / .8 / 1.5."
    )
    return f"{head}\n\n" + "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", default=list(GROUPS))
    parser.add_argument("--worlds", type=int, default=40)
    parser.add_argument("--least", type=int, default=1_600)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--page", type=Path, help="only write the figures of OUT into this page")
    given = parser.parse_args()
    done = json.loads(given.out.read_text()) if given.out.exists() else {}
    if given.page is not None:
        before, rest = given.page.read_text().split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        given.page.write_text(f"{before}{MARKS[0]}\n{page(done)}\n{MARKS[1]}{after}")
        return
    with ProcessPoolExecutor(given.jobs) as pool:
        for world in [world for name in given.only for world in GROUPS[name]]:
            if world.label in done:
                continue
            enough = max(8, -(-given.least // (world.learners * world.skills)))
            seeds = range(1000, 1000 + min(given.worlds, enough))
            done[world.label] = summary(world, list(pool.map(partial(one, world), seeds)))
            given.out.write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n")
            shown = {k: round(v, 3) for k, v in done[world.label].items() if isinstance(v, float)}
            print(world.label, done[world.label]["worlds"], shown, flush=True)


if __name__ == "__main__":
    main()
