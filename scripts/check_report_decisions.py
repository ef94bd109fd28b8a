"""Reports of routes, committees and features, on public and simulated tables, beside those made anew."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import camilla
from camilla.table.responses import ResponseTable
from check_report_committees import Anew as Committee
from check_report_committees import Answers, check_committee
from check_report_features import Anew as Features
from check_report_features import check_features
from check_report_routes import Anew as Route
from check_report_routes import Known, check_route
from check_report_truth import Raw, page_document

Checked = tuple[str, int, list[str]]
PROMPTS = 300  # of RouteLLM's GSM8K, the first ones
WEAK, STRONG = "mixtral-8x7b-instruct", "gpt-4-1106-preview"
PASSENGERS, POOL = 150, 12  # of Titanic, the first ones
PICTURES = 400  # of the digits


def section_of(found: Any, folder: Path) -> dict[str, Any]:
    """A decision's section of the page that shows it alone."""
    (folder / "decision.json").write_text(json.dumps(found.to_document()))
    page = camilla.report([folder / "decision.json"], folder / "decision.html").page
    section: dict[str, Any] = page_document(page)["comparisons"][0]
    return section


def checked_route(
    name: str, table: ResponseTable, known: Known, costs: dict[str, float] | None, folder: Path, seed: int
) -> Checked:
    """A route of a complete table whose samples stand in the order of their names."""
    found = camilla.route(table, costs=costs, methods=known.methods, seed=seed, partitions=2, progress=False)
    raw = Raw(list(table.learners), list(table.samples), table.matrix())
    every = costs or dict.fromkeys(table.learners, 1.0)
    anew = Route(raw, every, known, seed=seed, partitions=2, budget=found.budget)
    return (name, *check_route(section_of(found, folder), anew))


def routes(data: Path, folder: Path) -> Iterator[Checked]:
    """RouteLLM with its prompts; two classifiers of the digits; simulated tables."""
    frame = pl.read_parquet(data / "routellm/routellm_mmlu_gsm8k.parquet").filter(task="gsm8k").head(PROMPTS)
    frame = frame.with_columns(sample=pl.format("p{}", pl.int_range(pl.len()).cast(pl.String).str.zfill(4)))
    table = ResponseTable.from_wide(frame.select("sample", STRONG, WEAK), rows="samples")
    table = table.with_features(samples=frame.select("sample", "prompt"))
    known = Known(None, {}, {"prompt": frame["prompt"].to_list()})
    yield checked_route("route of RouteLLM", table, known, {WEAK: 0.0, STRONG: 1.0}, folder, 0)
    digits = camilla.digits()
    digits = digits.take_learners([digits.learners.index(one) for one in ("knn 1", "lda", "sgd")])
    assert digits.skill_map is not None
    skills = [digits.skill_map.skills[k] for k in digits.skill_map.mask.argmax(axis=1)]
    costs = {"knn 1": 5.0, "lda": 2.0, "sgd": 1.0}
    yield checked_route("route of the digits", digits, Known(skills, {}, {}), costs, folder, 1)
    for seed in range(6):
        table, known, costs_of = simulated_route(seed)
        yield checked_route(f"simulated route {seed}", table, known, costs_of, folder, seed)


def simulated_route(seed: int) -> tuple[ResponseTable, Known, dict[str, float] | None]:
    """With tasks, with a number, with both; with costs and without; with something to gain and without."""
    rng = np.random.default_rng(seed)
    n, learners = int(rng.integers(120, 260)), int(rng.integers(2, 5))
    task, x = rng.choice(["law", "art", "maths"], n), rng.normal(size=n)
    with_task, with_number, gain = seed % 3 != 1, seed % 3 != 0, 0.0 if seed == 4 else 1.2
    logit = 0.3 * np.arange(learners)[:, None] + 0.5 * rng.normal(size=n)
    if with_task:
        own = rng.normal(size=(learners, 3))
        logit = logit + gain * own[:, np.unique(task, return_inverse=True)[1]]
    if with_number:
        logit = logit + gain * np.outer(np.linspace(-1, 1, learners), x)
    names, samples = [f"m{k}" for k in range(learners)], [f"s{k:04d}" for k in range(n)]
    right = (rng.random((learners, n)) < 1 / (1 + np.exp(-logit))).astype(float)
    table = ResponseTable.from_matrix(right, learners=names, samples=samples)
    if with_task:
        table = replace(table, task=tuple(task.tolist()))
    if with_number:
        table = table.with_features(samples=pl.DataFrame({"sample": samples, "x": x}))
    known = Known(task.tolist() if with_task else None, {"x": x} if with_number else {}, {})
    return table, known, None if seed % 4 == 3 else {name: float(k**2 + 1) for k, name in enumerate(names)}


def checked_committee(
    name: str, table: ResponseTable, answers: Answers, n_classes: int, folder: Path, **options: Any
) -> Checked:
    found = camilla.ensemble(table, sizes=(3, 5), splits=2, seed=3, progress=False, **options)
    anew = Committee(answers, [3, 5], n_classes, splits=2, seed=3)
    return (name, *check_committee(section_of(found, folder), anew))


def committees(data: Path, folder: Path) -> Iterator[Checked]:
    """Classifiers of the digits with their answers; of Titanic, right or wrong; simulated ones."""
    digits = camilla.digits()
    digits = digits.take_samples(np.arange(PICTURES)).take_learners(np.arange(0, digits.n_learners, 4))
    ordered = digits.canonical().table
    said = ordered.short_answers()
    assert said is not None
    grid = np.empty((ordered.n_learners, ordered.n_samples), object)
    grid[ordered.learner, ordered.sample] = said.to_list()
    right = np.array(["nobody"] * ordered.n_samples, object)
    for i, j in zip(*np.nonzero(ordered.matrix() == 1), strict=True):
        right[j] = grid[i, j]
    answers = Answers(list(ordered.learners), grid, right)
    yield checked_committee("committee of the digits", digits, answers, len(set(grid.ravel())), folder)
    wide = Raw.wide(data / "camilla_responses/titanic_353x418.parquet", "id")
    matrix = wide.matrix[:: len(wide.learners) // POOL, :PASSENGERS]
    learners = wide.learners[:: len(wide.learners) // POOL]
    samples = [f"p{k:04d}" for k in range(PASSENGERS)]
    table = ResponseTable.from_matrix(matrix, learners=learners, samples=samples)
    answers = Answers(learners, matrix, np.ones(PASSENGERS))
    yield checked_committee("committee of Titanic", table, answers, 2, folder, two_answers=True)
    for seed in range(3):
        yield simulated_committee(seed, folder)


def simulated_committee(seed: int, folder: Path) -> Checked:
    """Six learners that give one of three answers."""
    rng = np.random.default_rng(seed)
    n, labels = 120, rng.integers(0, 3, 120)
    said = [
        np.where(rng.random(n) < 0.6 + 0.03 * i, labels, (labels + rng.integers(1, 3, n)) % 3)
        for i in range(6)
    ]
    names, samples = [f"m{k}" for k in range(6)], [f"s{k:04d}" for k in range(n)]
    rows = pl.DataFrame({
        "learner": np.repeat(names, n), "sample": samples * 6, "answer": np.concatenate(said).astype(str),
        "response": (np.array(said) == labels).astype(float).ravel(),
    })  # fmt: skip
    answers = Answers(names, np.array(said), labels)
    return checked_committee(f"simulated committee {seed}", camilla.read(rows), answers, 3, folder)


def features(data: Path, folder: Path) -> Iterator[Checked]:
    """What makes issues of SWE-bench hard, and simulated samples with numbers and categories."""
    raw = Raw.wide(data / "swebench/swebench_verified_agents.parquet", "instance_id", drop=("repo",))
    known = pl.read_parquet(data / "swebench_features/swebench_verified_features.parquet")
    order = np.argsort(raw.samples, kind="stable")
    samples = [raw.samples[k] for k in order]
    known = pl.DataFrame({"instance_id": samples}).join(known, on="instance_id", maintain_order="left")
    columns = {name: known[name].to_numpy().astype(float) for name in known.columns if name != "instance_id"}
    table = ResponseTable.from_matrix(raw.matrix[:, order], learners=raw.learners, samples=samples)
    yield checked_features("features of SWE-bench", table, columns, folder)
    for seed in range(4):
        yield simulated_features(seed, folder)


def simulated_features(seed: int, folder: Path) -> Checked:
    """A number and a category that make samples hard, or nothing does (seed 3); others that do not."""
    rng = np.random.default_rng(seed)
    n, learners = 120, 14
    steps, words = rng.normal(size=n), rng.normal(size=n)
    kind, two = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]), rng.choice(["long", "short"], n)
    hard = 0.0 if seed == 3 else 1.2 * steps + 0.8 * (kind == "a")
    logit = rng.normal(size=(learners, 1)) - hard - 0.7 * rng.normal(size=n)
    right = (rng.random((learners, n)) < 1 / (1 + np.exp(-logit))).astype(float)
    columns = {"steps": steps, "words": words} | ({"kind": kind, "two": two} if seed % 2 else {})
    names = [f"s{k:04d}" for k in range(n)]
    table = ResponseTable.from_matrix(right, learners=[f"m{k:02d}" for k in range(learners)], samples=names)
    return checked_features(f"simulated features {seed}", table, columns, folder)


def checked_features(name: str, table: ResponseTable, columns: dict[str, Any], folder: Path) -> Checked:
    table = table.with_features(samples=pl.DataFrame({"sample": table.samples, **columns}))
    found = camilla.feature_effects(table)
    return (name, *check_features(section_of(found, folder), Features(table.matrix().T, columns)))


def decisions(data: Path, folder: Path) -> Iterator[Checked]:
    """Every table of every kind."""
    yield from routes(data, folder)
    yield from committees(data, folder)
    yield from features(data, folder)
