"""The same sample name in two tasks is two samples; the same in two files of other learners is one."""

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from log_seeds import LAYOUTS, Seed

import camilla
from camilla.reading.inputs import load_logs

TWO_TASKS = [name for name in LAYOUTS if LAYOUTS[name]().format != "arena"]


def table_of(path: Path, learners: str, seed: int, n: int = 12) -> Path:
    """A long table without a task, samples 1, 2, 3, …"""
    rng = np.random.default_rng(seed)
    rows = [(learner, at, int(rng.integers(2))) for learner in learners for at in range(1, n + 1)]
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(rows, schema=["learner", "sample", "response"], orient="row").write_csv(path)
    return path


def test_two_benchmarks_in_one_folder_keep_their_samples_and_means(tmp_path: Path) -> None:
    paths = [table_of(tmp_path / f"{name}.csv", "abc", seed) for seed, name in enumerate(("gsm8k", "mmlu"))]
    found = load_logs([tmp_path])
    assert found.table.n_samples == 24
    assert sorted(set(found.table.task or ())) == ["gsm8k", "mmlu"]
    assert {"gsm8k/1", "mmlu/12"} <= set(found.table.samples)
    for path in paths:
        alone = camilla.read(path)
        part = found.table.take_samples(
            [j for j, task in enumerate(found.table.task or ()) if task == path.stem]
        )
        assert dict(zip(part.learners, part.learner_means().mean, strict=True)) == dict(
            zip(alone.learners, alone.learner_means().mean, strict=True)
        )
    assert any("several benchmarks: 2 files share 12 sample names" in line for line in found.lines())
    assert found.document()["shared_sample_names"][0]["joined"] is False


def test_files_of_other_learners_on_the_same_samples_are_one_benchmark(tmp_path: Path) -> None:
    table_of(tmp_path / "a.csv", "a", 1)
    table_of(tmp_path / "b.csv", "b", 2)
    found = load_logs([tmp_path])
    assert (found.table.n_samples, found.table.is_complete) == (12, True)
    assert set(found.table.task or ()) == {"a + b"}
    assert any("one benchmark: 2 files share 12 sample names" in line for line in found.notes())


def test_files_of_one_name_in_several_folders(tmp_path: Path) -> None:
    """One task with other learners, several with the same."""
    table_of(tmp_path / "may" / "quiz.csv", "a", 1)
    table_of(tmp_path / "june" / "quiz.csv", "b", 2)
    table = load_logs([tmp_path]).table
    assert (table.n_samples, set(table.task or ())) == (12, {"quiz"})
    table_of(tmp_path / "july" / "quiz.csv", "ab", 3)
    table = load_logs([tmp_path]).table
    assert (table.n_samples, set(table.task or ())) == (36, {"july/quiz", "june/quiz", "may/quiz"})


def test_samples_of_other_names_keep_them(tmp_path: Path) -> None:
    table_of(tmp_path / "one.csv", "ab", 1)
    (tmp_path / "two.csv").write_text("learner,sample,response\na,x,1\nb,x,0\n")
    found = load_logs([tmp_path])
    assert found.merged is not None
    assert (found.table.n_samples, found.merged.namesakes) == (13, [])
    assert {"1", "x"} <= set(found.table.samples)


def test_tasks_that_are_named_are_never_joined(tmp_path: Path) -> None:
    """Not even where learners differ, and clusters and skills follow their samples."""
    for name, learner in (("one", "a"), ("two", "b")):
        frame = pl.DataFrame(
            {"learner": learner, "sample": ["1", "2"], "response": [1, 0], "task": name, "cluster": "k"}
        )
        table = camilla.read(frame, task="task", cluster="cluster")
        mask = np.eye(2, dtype=bool) if name == "one" else np.eye(2, dtype=bool)[::-1]
        table.with_skills(camilla.SkillMap(("s", "t"), mask)).write(tmp_path / f"{name}.parquet")
    table = load_logs([tmp_path]).table
    assert table.samples == ("one/1", "one/2", "two/1", "two/2")
    assert table.cluster == ("one/k", "one/k", "two/k", "two/k")
    assert table.skill_map is not None
    assert table.skill_map.mask.tolist() == [[True, False], [False, True], [False, True], [True, False]]


@pytest.mark.parametrize("layout", TWO_TASKS)
def test_two_tasks_with_the_same_sample_names_give_the_sum_of_their_samples(
    layout: str, tmp_path: Path
) -> None:
    """For every format: a log, and the same log of another task beside it."""
    seed = LAYOUTS[layout]()
    written(seed, tmp_path / "one")
    written(of_another_task(seed), tmp_path / "two")
    one, two = (load_logs([tmp_path / name]).table for name in ("one", "two"))
    both = load_logs([tmp_path]).table
    assert both.n_samples == one.n_samples + two.n_samples
    assert both.n_responses == one.n_responses + two.n_responses


def written(seed: Seed, folder: Path) -> None:
    """The files of a seed below a folder."""
    for name, data in seed.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def of_another_task(seed: Seed) -> Seed:
    """The same files with another task: in their contents, their names or their folders."""

    def moved(name: str) -> str:
        name = name.replace("quiz", "exam").replace("evaluation/verified", "evaluation/lite")
        return name.replace("subjects.jsonl", "exam.jsonl").replace("long.", "exam.")

    files = {moved(name): _changed(seed.format, name, data) for name, data in seed.files.items()}
    if seed.format == "swe-bench" and "results/results.json" not in seed.target:
        report = json.dumps({"resolved": ["django__django-1"], "no_logs": ["sympy__sympy-2"]}).encode()
        files = {"evaluation/lite/20260121_org__m/results/results.json": report}
    return seed._replace(target=moved(seed.target), files=files)


def _changed(format: str, name: str, data: bytes) -> bytes:
    if format == "inspect" and name.endswith(".eval"):
        return _archive_of_another_task(data)
    if name.endswith(".parquet") and format == "table":
        buffer = io.BytesIO()
        pl.read_parquet(data).with_columns(task=pl.lit("exam")).write_parquet(buffer)
        return buffer.getvalue()
    if name.endswith(".parquet"):
        return data
    swaps = {
        "table": ((b",t,", b",exam,"), (b'"task":"t"', b'"task":"exam"')),
        "alpaca-eval": ((b'"generator_1":"base"', b'"generator_1":"other"'),),
        "openml": ((b"openml_task_9", b"openml_task_8"),),
    }
    data = data.replace(b'": "', b'":"')
    for old, new in swaps.get(format, ((b"quiz", b"exam"),)):
        data = data.replace(old, new)
    return data


def _archive_of_another_task(data: bytes) -> bytes:
    from zipfile import ZIP_DEFLATED

    from log_seeds import zip_of

    from camilla.reading.decoding import Archive

    archive = Archive(io.BytesIO(data), Path("log.eval"))
    entries = {name: archive.read(name).replace(b"quiz", b"exam") for name in archive.names()}
    return zip_of(entries, ZIP_DEFLATED)
