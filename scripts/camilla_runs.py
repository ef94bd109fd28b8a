"""Runs every experiment of docs/results/camilla.md; what build/camilla.parquet holds is not run again.

Run with CAMILLA_DATA set to the folder of real data sets; the Diamond log is the one that
`camilla pool diamond` leaves in build/pools/diamond. With words, only the parts of the plan so called;
with a number among them, only so many of the seeds.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

import camilla
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillGraph, SkillMap

STORE = Path("build/camilla.parquet")
DIAMOND = Path("build/pools/diamond")
SEEDS = (1, 21, 42, 84, 168, 336, 672, 1344, 2688, 5376)
SIZES = (250, 500, 1000, 2500, 5000)
MORE_PARTITIONS = tuple(range(20001, 20061))  # ten halvings leave ± .01 of a difference that .02 is asked of
SLOW_PARTITIONS = MORE_PARTITIONS[:32]
QUICK = ("vanilla", "irt", "mirt", "mf", "gaussian", "auto")
QUICK_SKILLS = ("skill-vanilla", "camilla-base", "camilla-base:signs=free")
QUICK_PUBLISHED = ("irt:as_published", "mirt:as_published")


class Part(NamedTuple):
    """A part of the plan: one experiment on one table."""

    name: str
    experiment: str
    table: str
    diagnosers: tuple[str, ...]
    seeds: tuple[int, ...] = SEEDS
    sizes: tuple[int, ...] | None = None


NEURAL = ("camilla", "neural-cd")
ON_GRAPHS = ("hier-mirt", "hier-ncd", "qc-cdm")
GRAPH = " graph"  # ends the name of a table whose skills have a graph
PLAN = (
    Part("esol", "reliability", "esol", (*QUICK, *QUICK_PUBLISHED)),
    Part("titanic", "reliability", "titanic", (*QUICK, *QUICK_SKILLS, *QUICK_PUBLISHED, "dina")),
    Part("cifar", "reliability", "cifar100", ("vanilla", "irt", "camilla-base", "auto")),
    Part("stability", "rank-stability", "cifar100", ("irt:precision=1", "auto"), sizes=SIZES),
    Part("halves", "rank-stability", "cifar100", ("irt:precision=1", "auto"), MORE_PARTITIONS, SIZES[-1:]),
    Part("skills", "rank-stability", "cifar100", ("camilla-base",), sizes=SIZES),
    Part("cifar", "reliability", "cifar100", (*QUICK_SKILLS, "mf", "gaussian", "mirt")),
    Part("swebench", "reliability", "swebench", (*QUICK, *QUICK_SKILLS, "dina")),
    Part("diamond", "reliability", "diamond", (*QUICK, *QUICK_SKILLS)),
    Part("helm", "reliability", "helm_lite", ("vanilla", "irt", "gaussian", "camilla-base", "auto")),
    Part("published", "reliability", "cifar100", QUICK_PUBLISHED),
    Part("neural", "reliability", "esol", ("camilla",)),
    Part("neural", "reliability", "titanic", (*NEURAL, "ka-ncd")),
    Part("neural", "reliability", "cifar100", NEURAL),
    Part("neural", "reliability", "diamond", NEURAL),
    Part("latent", "rank-stability", "cifar100", ("camilla",), sizes=(250, 1000, 5000)),
    Part("latent", "rank-stability", "cifar100", ("camilla",), SLOW_PARTITIONS, SIZES[-1:]),
    Part("graph", "reliability", "titanic" + GRAPH, ON_GRAPHS),
    Part("graph", "reliability", "cifar100" + GRAPH, ON_GRAPHS),
    Part("graph", "reliability", "diamond" + GRAPH, ON_GRAPHS),
    Part("slow", "reliability", "cifar100", ("ka-ncd",)),
    Part("slow", "reliability", "diamond", ("ka-ncd",)),
    Part("assumptions", "assumptions", "cifar100", ()),
    Part("assumptions", "assumptions", "titanic", ()),
)  # fmt: skip


def _titanic(folder: Path) -> ResponseTable:
    skills = folder / "titanic/test_with_truth.csv"
    log = folder / "camilla_responses/titanic_353x418.parquet"
    return camilla.read(log, rows="samples", skills=f"{skills}:Sex,Embarked,Pclass")


def _cifar(folder: Path) -> ResponseTable:
    table = camilla.read(folder / "camilla_responses/cifar100_test_42x10000.parquet", rows="samples")
    labels = pl.read_parquet(folder / "cifar100_labels/test_labels.parquet").sort("index")["label"]
    return table.with_skills(SkillMap.from_labels(labels.to_list()))


def _esol(folder: Path) -> ResponseTable:
    frame = pl.read_parquet(folder / "camilla_responses/esol_22x1127.parquet")
    return ResponseTable.from_errors(
        frame.drop("id", "label"), frame["label"].to_numpy(), samples=[str(i) for i in frame["id"]]
    )


def _swebench(folder: Path) -> ResponseTable:
    return camilla.read(folder / "swebench/swebench_verified_agents.parquet", rows="samples", skills=":repo")


def _helm(folder: Path) -> ResponseTable:
    """Items are numbered anew in every scenario."""
    path = folder / "helm_lite/helm_lite_items_x_30models.parquet"
    return camilla.read(path, rows="samples", task="scenario", skills=":scenario")


def _diamond(_: Path) -> ResponseTable | None:
    """The log of our own pool, if it was made."""
    if not (DIAMOND / "responses.parquet").exists():
        return None
    return camilla.read(
        DIAMOND / "responses.parquet", skills=f"{DIAMOND / 'skills.parquet'}:cut,color,clarity"
    )


def _under(table: ResponseTable | None, parents: Sequence[str] | None = None) -> ResponseTable | None:
    """The table with a graph: each skill builds on its parent, all on one general skill if none are given.

    A sample that needs a skill needs its parent too.
    """
    if table is None or table.skill_map is None:
        return None
    children, mask = table.skill_map.skills, table.skill_map.mask
    above = ["general"] * len(children) if parents is None else list(parents)
    roots = list(dict.fromkeys(above))
    needs = np.stack([mask[:, [parent == root for parent in above]].any(axis=1) for root in roots], axis=1)
    skills = SkillMap((*roots, *children), np.hstack([needs, mask]))
    return table.with_skills(skills, graph=SkillGraph(tuple(zip(above, children, strict=True))))


def _cifar_graph(folder: Path) -> ResponseTable | None:
    """Classes under their superclasses."""
    labels = pl.read_parquet(folder / "cifar100_labels/test_labels.parquet")
    coarse = {str(label): f"super {above}" for label, above in labels.select("label", "coarse_label").rows()}
    table = _cifar(folder)
    assert table.skill_map is not None
    return _under(table, [coarse[skill] for skill in table.skill_map.skills])


READERS: dict[str, Callable[[Path], ResponseTable | None]] = {
    "titanic": _titanic, "cifar100": _cifar, "esol": _esol, "swebench": _swebench, "helm_lite": _helm,
    "diamond": _diamond, "titanic" + GRAPH: lambda folder: _under(_titanic(folder)),
    "cifar100" + GRAPH: _cifar_graph, "diamond" + GRAPH: lambda folder: _under(_diamond(folder)),
}  # fmt: skip


def read_tables(folder: Path, names: Iterable[str] = READERS) -> dict[str, ResponseTable]:
    """These tables of the plan, as far as they are there."""
    found = {name: READERS[name](folder) for name in names}
    return {name: table for name, table in found.items() if table is not None}


def main() -> None:
    """Fills the store in the order of the plan."""
    if "CAMILLA_DATA" not in os.environ:
        sys.exit("CAMILLA_DATA is not set; it names the folder of real data sets")
    STORE.parent.mkdir(exist_ok=True)
    most = next((int(word) for word in sys.argv[1:] if word.isdigit()), len(SEEDS))
    names = [word for word in sys.argv[1:] if not word.isdigit()]
    plan = [part for part in PLAN if not names or part.name in names]
    tables = read_tables(Path(os.environ["CAMILLA_DATA"]), {part.table for part in plan})
    for part in plan:
        if part.table not in tables:
            print(f"no table {part.table} yet", file=sys.stderr)
        else:
            camilla.experiment(
                part.experiment, {part.table: tables[part.table]}, diagnosers=part.diagnosers,
                seeds=part.seeds[:most], sizes=part.sizes, store=STORE, jobs=1,
                watch=lambda line, part=part: print(part.name, line, file=sys.stderr, flush=True),
            )  # fmt: skip


if __name__ == "__main__":
    main()
