"""The same sample name in two tasks is two samples, and in two files unless something says they are one."""

import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from log_seeds import LAYOUTS, Seed

import camilla
from camilla.errors import SettingError
from camilla.learners.two_sources import read_two
from camilla.reading.inputs import load_logs
from camilla.reading.joining import Choices

TWO_TASKS = [name for name in LAYOUTS if LAYOUTS[name]().format not in ("arena", "mt-bench-pairs")]


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


def test_files_of_one_name_in_several_folders_are_several_tasks(tmp_path: Path) -> None:
    """Of the same learners or of others."""
    table_of(tmp_path / "may" / "quiz.csv", "a", 1)
    table_of(tmp_path / "june" / "quiz.csv", "b", 2)
    table = load_logs([tmp_path]).table
    assert (table.n_samples, set(table.task or ())) == (24, {"june/quiz", "may/quiz"})
    table_of(tmp_path / "july" / "quiz.csv", "ab", 3)
    table = load_logs([tmp_path]).table
    assert (table.n_samples, set(table.task or ())) == (36, {"july/quiz", "june/quiz", "may/quiz"})


def test_a_folder_per_learner_keeps_each_benchmark_together_and_apart_from_the_others(tmp_path: Path) -> None:
    for seed, (learner, name) in enumerate((i, j) for i in "ab" for j in ("gsm8k", "mmlu")):
        table_of(tmp_path / f"model-{learner}" / f"{name}.csv", learner, seed)
    found = load_logs([tmp_path])
    assert (found.table.n_samples, found.table.is_complete) == (24, True)
    assert {"gsm8k/1", "mmlu/12"} <= set(found.table.samples)
    notes = " ".join(found.notes())
    assert "one benchmark: 2 files share 12 sample names" in notes
    assert "several benchmarks" in notes


@pytest.mark.parametrize(
    ("files", "n_samples"),
    [
        ({"model_a.csv": "a", "model_b.csv": "b"}, 12),
        ({"gsm8k_a.csv": "a", "gsm8k_b.csv": "b"}, 12),
        ({"gsm8k_a.csv": "a", "mmlu_b.csv": "b"}, 24),
        ({"gsm8k.csv": "a", "mmlu.csv": "b"}, 24),
        ({"gsm8k.csv": "ab", "mmlu.csv": "cd"}, 24),
        ({"one.csv": "ab", "two.csv": "c"}, 24),
    ],
)
def test_files_of_other_learners_are_joined_only_where_their_names_say_one_benchmark(
    files: dict[str, str], n_samples: int, tmp_path: Path
) -> None:
    for seed, (name, learners) in enumerate(files.items()):
        table_of(tmp_path / name, learners, seed)
    found = load_logs([tmp_path])
    assert found.table.n_samples == n_samples
    assert found.document()["shared_sample_names"][0]["joined"] is (n_samples == 12)
    together = load_logs([tmp_path], Choices(one_benchmark=True))
    assert together.table.n_samples == 12
    if n_samples == 24:
        assert any("use --one-benchmark" in note for note in found.notes())


def test_a_file_is_of_a_named_task_only_if_it_is_called_like_it(tmp_path: Path) -> None:
    (tmp_path / "first.csv").write_text("learner,sample,response,task\na,1,1,quiz\na,2,0,quiz\n")
    table_of(tmp_path / "b.csv", "b", 1, n=2)
    assert load_logs([tmp_path]).table.n_samples == 4
    (tmp_path / "b.csv").rename(tmp_path / "quiz_b.csv")
    assert load_logs([tmp_path]).table.n_samples == 2


def test_one_benchmark_does_not_join_named_tasks(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.csv").write_text(f"learner,sample,response,task\n{name},1,1,{name}\n")
    with pytest.raises(SettingError, match="cannot join tasks that are named: 'one', 'two'"):
        load_logs([tmp_path], Choices(one_benchmark=True))


def test_two_files_are_compared_on_the_samples_of_one_task(tmp_path: Path) -> None:
    """Two py-irt files that name no task: whoever compares them says that they are of one."""
    for name, value in (("old", 1), ("new", 0)):
        line = {"subject_id": name[::-1], "responses": {"q1": value, "q2": 1, "q3": 0}}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line))
    found = read_two(tmp_path / "old.jsonl", tmp_path / "new.jsonl")
    assert (found.table.n_samples, found.table.is_complete) == (3, True)


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
    tasks = np.array(both.task or ())[both.sample]
    means = {
        (task, i): both.response[rows].mean()
        for task in set(tasks)
        for i in range(both.n_learners)
        if (rows := (both.learner == i) & (tasks == task)).any()
    }
    alone = [
        part.response[part.learner == i].mean()
        for part in (one, two)
        for i in range(part.n_learners)
        if (part.learner == i).any()
    ]
    assert sorted(means.values()) == pytest.approx(sorted(alone))


def written(seed: Seed, folder: Path) -> None:
    """The files of a seed below a folder."""
    for name, data in seed.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def of_another_task(seed: Seed) -> Seed:
    """The same files with another task: in their contents, their names or their folders."""

    def moved(name: str) -> str:
        name = name.replace("quiz", "exam").replace("evaluation/verified", "evaluation/lite")
        name = name.replace("codegeneration", "selfrepair")
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
