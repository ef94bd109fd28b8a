"""Recomputes every statement of a report's summaries from the raw tables; exits 1 if one is false.

python scripts/check_report.py [NAME …] checks demo, titanic, cifar100, swebench, helm, epp, comparison,
experiment, simulated and decisions: routes, committees and features. Tables come from the folder
CAMILLA_DATA, formulas from check_report_truth.py, what has to hold from check_report_rules.py;
check_report_routes.py, check_report_committees.py and check_report_features.py make a decision anew. A
statement of a kind without a rule counts as false.
"""

import json
import math
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import t, ttest_rel

import camilla
from camilla.experiments.running import experiment
from check_report_decisions import decisions
from check_report_rules import UNSURE, Truth, false_statements, need, of_diagnosis, paired_truth, ranks
from check_report_truth import Players, Raw, adjusted_by_flips, page_document, paired


def of_board(section: dict[str, Any], players: Players) -> tuple[int, list[str]]:
    def rule(said: dict[str, Any]) -> Truth:
        if said["kind"].startswith("epp ") and said["kind"].endswith("lead"):
            need(said["names"]["leader"] == players.names[0], "another player leads")
            tied = players.tied_with_first()
            need((said["kind"] == "epp tied lead") == (tied > 1), f"{tied} are tied with the first")
            return {"players": len(players.names), "tied": ranks(tied)}
        first, second = (players.names.index(said["names"][role]) for role in ("first", "second"))
        if said["kind"] == "epp matches":
            won, lost = players.won[first, second], players.won[second, first]
            return {"played": won + lost, "won": won}
        need(said["kind"] == "epp win", "no rule recomputes this kind")
        gap, se, _ = players.gap(first, second)
        half = t.ppf(0.975, players.df) * se
        p, low, high = (1 / (1 + math.exp(-x)) for x in (gap, gap - half, gap + half))
        return {"p": (p, 1e-4), "p_low": (low, 1e-4), "p_high": (high, 1e-4)}

    return false_statements(section, rule)


def of_comparison(section: dict[str, Any], raw: Raw) -> tuple[int, list[str]]:
    def rule(said: dict[str, Any]) -> Truth:
        found = paired(raw.row(said["names"]["b"]), raw.row(said["names"]["a"]))
        assert found is not None
        if said["kind"] == "compare counts":
            return {
                "won": found.won,
                "lost": found.lost,
                "mean_b": found.mean_first,
                "mean_a": found.mean_second,
            }
        sign = "better" if found.difference > 0 else "worse"
        beyond = found.low > 0 or found.high < 0
        verdict = sign if found.p < 0.05 else f"probably {sign}" if beyond else "tied"
        need(said["kind"] == f"compare {verdict}", f"the verdict is {verdict}")
        return paired_truth(found)

    return false_statements(section, rule)


def of_ranking(section: dict[str, Any], raw: Raw) -> tuple[int, list[str]]:
    mean = {name: raw.accuracy(name)[0] for name in raw.learners}
    board = sorted(raw.learners, key=lambda name: (-round(mean[name], 12), name))
    n = len(board)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    found = [paired(raw.row(board[i]), raw.row(board[j])) for i, j in pairs]
    p = np.ones((n, n))
    for (i, j), one in zip(pairs, found, strict=True):
        p[i, j] = p[j, i] = 1.0 if one is None else one.p
    adjusted = adjusted_by_flips(np.array([raw.row(name) for name in board]), p)[0, 1:]

    def rule(said: dict[str, Any]) -> Truth:
        if said["kind"] == "rank mean":
            value, low, high = raw.accuracy(said["names"]["learner"])
            n_seen = int(np.isfinite(raw.row(said["names"]["learner"])).sum())
            return {"mean": value, "mean_low": low, "mean_high": high, "n": n_seen}
        need(said["names"]["leader"] == board[0], "another learner has the highest mean")
        least, most = ((adjusted >= 0.05 + slack).sum() for slack in (UNSURE, -UNSURE))
        kinds = {"rank sure lead" if tied == 0 else "rank tied lead" for tied in (least, most)}
        need(said["kind"] in kinds, f"it is a {' or a '.join(sorted(kinds))}")
        sharing = sum(abs(mean[name] - mean[board[0]]) < 1e-12 for name in board) - 1
        tied = (least + most) / 2, (most - least) / 2
        return {"learners": n, "others": n - 1, "tied": tied, "sharing": sharing}

    return false_statements(section, rule)


def of_experiment(section: dict[str, Any], path: Path) -> tuple[int, list[str]]:
    rows = pl.read_parquet(path).filter(experiment=section["name"])

    def rule(said: dict[str, Any]) -> Truth:
        verdict = section["verdict"]["names"]
        part = rows.filter(score=verdict["score"])
        if verdict["comparison"]:
            part = part.filter(comparison=verdict["comparison"])
        if part["size"].drop_nulls().len():
            part = part.filter(pl.col("size") == part["size"].max())
        values = {
            name: dict(part.filter(diagnoser=name).select("seed", "value").rows())
            for name in part["diagnoser"].unique()
        }
        means = {name: float(np.mean(list(own.values()))) for name, own in values.items()}
        lower = verdict["score"] in ("rmse", "mae", "log_loss")
        order = sorted(means, key=lambda name: (means[name] if lower else -means[name], name))
        if said["kind"] == "experiment best":
            need(said["names"]["diagnoser"] == order[0], f"{order[0]} is better")
            need(len(order) == 1 or said["names"]["second"] == order[1], "another is the next one")
            return {
                "mean": means[order[0]],
                "seeds": len(values[order[0]]),
                "next": means[order[1]] if len(order) > 1 else None,
            }
        one, other = values[said["names"]["first"]], values[said["names"]["second"]]
        seeds = sorted(set(one) & set(other))
        found = ttest_rel([one[seed] for seed in seeds], [other[seed] for seed in seeds])
        low, high = found.confidence_interval()
        gap = float(np.mean([one[seed] - other[seed] for seed in seeds]))
        return {
            "difference": gap,
            "difference_low": low,
            "difference_high": high,
            "seeds": len(seeds),
            "p": found.pvalue,
        }

    return false_statements(section, rule)


def simulated(seed: int) -> Raw:
    """Of another kind for every seed: sizes, skills, missing or fractional responses, spreads."""
    rng = np.random.default_rng(seed)
    n, m, k = int(rng.integers(3, 30)), int(rng.integers(30, 250)), int(rng.integers(1, 6))
    skill = rng.integers(0, k, m)
    ability = (
        rng.normal(0, rng.choice([0.1, 1.0]), (n, 1))
        + rng.normal(0, rng.choice([0.0, 0.8]), (n, k))[:, skill]
    )
    p = 1 / (1 + np.exp(-rng.lognormal(0, 0.3, m) * (ability - rng.normal(0, 1, m))))
    x = (
        rng.beta(4 * p + 1e-3, 4 * (1 - p) + 1e-3)
        if seed % 5 == 4
        else (rng.random((n, m)) < p).astype(float)
    )
    if seed % 3 == 2:
        x[rng.random((n, m)) < 0.2] = np.nan
    keep = np.isfinite(x).any(axis=0)
    groups = {f"skill {one}": (skill == one)[keep] for one in range(k) if (skill == one)[keep].any()}
    return Raw(
        [f"learner {i:02d}" for i in range(n)],
        [f"q{j:03d}" for j in np.flatnonzero(keep)],
        x[:, keep],
        groups if len(groups) > 1 else None,
    )


def table_of(raw: Raw) -> camilla.ResponseTable:
    """The raw table as camilla reads it from a long frame."""
    who, what = np.nonzero(np.isfinite(raw.matrix))
    columns: dict[str, Any] = {
        "learner": [raw.learners[i] for i in who],
        "sample": [raw.samples[j] for j in what],
        "response": raw.matrix[who, what],
    }
    if raw.skills:
        columns["skill"] = [next(skill for skill, inside in raw.skills.items() if inside[j]) for j in what]
    return camilla.read(pl.DataFrame(columns), **({"skills": ":skill"} if raw.skills else {}))


def checked_table(raw: Raw, folder: Path, diagnoser: str = "auto") -> tuple[int, list[str]]:
    """Diagnoses a table, writes its report and checks it."""
    camilla.diagnose(table_of(raw), diagnoser, progress=False).save(folder / "found")
    page = camilla.report([folder / "found"], folder / "page.html").page
    return of_diagnosis(page_document(page)["diagnoses"][0], raw, folder / "found")


def demo() -> Raw:
    table = camilla.digits()
    assert table.skill_map is not None
    kinds = {name: table.skill_map.mask[:, k] for k, name in enumerate(table.skill_map.skills)}
    return Raw(list(table.learners), list(table.samples), table.matrix(), kinds)


def tables(data: Path) -> dict[str, Callable[[], Raw]]:
    responses = data / "camilla_responses"
    return {
        "demo": demo,
        "titanic": lambda: Raw.wide(responses / "titanic_353x418.parquet", "id"),
        "cifar100": lambda: Raw.wide(responses / "cifar100_test_42x10000.parquet", "id"),
        "swebench": lambda: Raw.wide(
            data / "swebench/swebench_verified_agents.parquet", "instance_id", skill="repo"
        ),
        "helm": lambda: Raw.wide(
            data / "helm_lite/helm_lite_items_x_30models.parquet", "item", task="scenario"
        ),
    }


def others(data: Path, folder: Path, wanted: list[str]) -> Iterator[tuple[str, int, list[str]]]:
    """An EPP board, a comparison, a ranking and an experiment."""
    if "epp" in wanted:
        frame = pl.read_csv(data / "vtab/vtab_leaderboard_epp.csv")
        scores = frame.drop("Model", "Mean").cast(pl.Float64)
        long = (
            frame.drop("Mean")
            .unpivot(index="Model", variable_name="round", value_name="score")
            .rename({"Model": "player"})
        )
        camilla.epp(camilla.Tournament.from_long(long)).save(folder / "board")
        page = camilla.report([folder / "board"], folder / "board.html").page
        yield (
            "epp",
            *of_board(page_document(page)["boards"][0], Players(frame["Model"].to_list(), scores.to_numpy())),
        )
    if "comparison" in wanted:
        raw = tables(data)["swebench"]()
        pair = camilla.compare(table_of(raw), raw.learners[3], raw.learners[-1])
        small = Raw(raw.learners[:40], raw.samples, raw.matrix[:40])
        for name, document in (
            ("pair", pair.to_document()),
            ("rank", camilla.rank(table_of(small)).to_document()),
        ):
            (folder / f"{name}.json").write_text(json.dumps(document))
        page = camilla.report([folder / "pair.json", folder / "rank.json"], folder / "compared.html").page
        sections = page_document(page)["comparisons"]
        yield "comparison", *of_comparison(sections[0], raw)
        yield "ranking", *of_ranking(sections[1], small)
    if "experiment" in wanted:
        store, table = folder / "experiments.parquet", table_of(simulated(1))
        for name in ("reliability", "rank-consistency"):
            experiment(
                name,
                {"simulated": table},
                diagnosers=("vanilla", "irt:precision=3"),
                seeds=(1, 2, 3),
                store=store,
            )
        page = camilla.report([store], folder / "experiment.html").page
        for section in page_document(page)["experiments"]:
            yield f"experiment {section['name']}", *of_experiment(section, store)


def main(wanted: list[str]) -> int:
    data = Path(os.environ.get("CAMILLA_DATA", "data"))
    every_table = tables(data)
    wanted = wanted or [*every_table, "epp", "comparison", "experiment", "simulated", "decisions"]
    total, wrong = 0, []
    with tempfile.TemporaryDirectory() as place:

        def tell(name: str, n: int, found: list[str]) -> None:
            nonlocal total
            total += n
            wrong.extend(f"{name}: {line}" for line in found)
            print(f"{name}: {n} statements, {len(found)} false", flush=True)

        for name in (name for name in every_table if name in wanted):
            tell(name, *checked_table(every_table[name](), _fresh(place, name)))
        for name, n, found in others(data, Path(place), wanted):
            tell(name, n, found)
        if "decisions" in wanted:
            for name, n, found in decisions(data, Path(place)):
                tell(name, n, found)
        if "simulated" in wanted:
            for seed in range(20):
                kind = "irt" if seed % 4 == 3 else "auto"
                tell(
                    f"simulated {seed} ({kind})",
                    *checked_table(simulated(seed), _fresh(place, str(seed)), kind),
                )
    print("\n".join([f"{total} statements, {len(wrong)} false", *wrong]))
    return 1 if wrong else 0


def _fresh(place: str, name: str) -> Path:
    folder = Path(place) / name
    folder.mkdir()
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
