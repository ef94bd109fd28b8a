"""How runs are joined: what is kept, chosen, refused and missing, and that it is said."""

import json
import sys
from pathlib import Path

import log_seeds
import numpy as np
import pytest

from camilla.errors import CamillaError, DataError, SettingError
from camilla.reading.inputs import load_logs, read
from camilla.reading.joining import Choices


def eee(path: Path, model: str, scores: dict[str, float | None], **more: object) -> Path:
    """An Every Eval Ever file: a line a sample; `hashes` and `task` may differ."""
    hashes = more.get("hashes", {})
    rows = [
        {
            "evaluation_id": str(more.get("id", path.stem)),
            "model_id": model,
            "evaluation_name": more.get("task", "quiz"),
            "sample_id": name,
            "sample_hash": hashes.get(name, f"hash of {name}"),
            "evaluation": {"score": score, "is_correct": None},
        }
        for name, score in scores.items()
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def lm_eval(folder: Path, model: str, time: str, rows: list[dict]) -> None:
    inside = folder / model
    inside.mkdir(parents=True, exist_ok=True)
    (inside / f"results_{time}.json").write_text(json.dumps(log_seeds.LM_RESULTS | {"model_name": model}))
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (inside / f"samples_quiz_{time}.jsonl").write_text(text)


def row(doc_id: int, **scores: object) -> dict:
    return {
        "doc_id": doc_id,
        "doc": {"q": doc_id},
        "resps": [],
        "filter": "none",
        "metrics": list(scores),
    } | scores


def test_learners_and_tasks_of_many_files_become_one_table(tmp_path: Path) -> None:
    eee(tmp_path / "1.jsonl", "a", {"x": 1, "y": 0})
    eee(tmp_path / "2.jsonl", "b", {"y": 1, "z": 0.5})
    eee(tmp_path / "3.jsonl", "a", {"x": 0}, task="other")
    found = load_logs([tmp_path])
    table = found.table
    assert table.learners == ("a", "b")
    assert table.samples == ("other/x", "quiz/x", "quiz/y", "quiz/z")
    assert table.task == ("other", "quiz", "quiz", "quiz")
    nan = np.nan
    np.testing.assert_array_equal(table.matrix(), [[0, 1, 0, nan], [nan, nan, 1, 0.5]])
    assert found.merged is not None
    assert found.merged.missing == {"unscored": 0, "errored": 0, "truncated": 0, "not run": 3}


def test_a_folder_that_mixes_all_formats_loads(tmp_path: Path) -> None:
    """Every layout of every format in one folder, and a file that is none."""
    for number, make in enumerate(log_seeds.LAYOUTS.values()):
        for name, data in make().files.items():
            path = tmp_path / f"{number}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    (tmp_path / "README.md").write_text("# Runs")
    found = load_logs([tmp_path], Choices(runs="trials"))
    assert set(found.files.read) == {make().format for make in log_seeds.LAYOUTS.values()}
    assert found.files.unknown == [str(tmp_path / "README.md")]
    assert found.matches is not None
    assert {"org/m", "m", "run_77"} <= set(found.table.learners)
    assert any("matches: 15" in line for line in found.lines())


def test_of_repeated_runs_the_newest_is_kept_and_said(tmp_path: Path) -> None:
    lm_eval(tmp_path, "a", "2026-01-02T00-00-00", [row(0, acc=1.0)])
    lm_eval(tmp_path, "a", "2026-03-02T00-00-00", [row(0, acc=0.0)])
    lm_eval(tmp_path, "a", "2026-02-02T00-00-00", [row(0, acc=1.0)])
    found = load_logs([tmp_path])
    assert found.table.response.tolist() == [0]
    assert found.merged is not None
    (repeated,) = found.merged.repeated
    assert repeated.kept == [str(tmp_path / "a/samples_quiz_2026-03-02T00-00-00.jsonl")]
    assert len(repeated.left_out) == 2
    assert any("2 older ones" in line for line in found.lines())
    as_trials = read(tmp_path, runs="trials")
    assert sorted(as_trials.response) == [0, 1, 1]
    assert sorted(as_trials.trial if as_trials.trial is not None else ()) == [0, 1, 2]


def test_a_log_named_by_two_paths_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lm_eval(tmp_path / "lm", "a", "2026-01-02T00-00-00", [row(0, acc=1.0), row(1, acc=0.0)])
    (tmp_path / "link").symlink_to(tmp_path / "lm")
    monkeypatch.chdir(tmp_path)
    found = load_logs([Path("lm"), tmp_path / "lm", Path("link")], Choices(runs="trials"))
    assert found.table.response.tolist() == [1, 0]
    assert found.files.companions == {"lm-eval": 1}


def test_runs_that_share_no_sample_are_both_kept(tmp_path: Path) -> None:
    lm_eval(tmp_path, "a", "2026-01-02T00-00-00", [row(0, acc=1.0)])
    lm_eval(tmp_path, "a", "2026-02-02T00-00-00", [row(1, acc=0.0)])
    assert read(tmp_path).response.tolist() == [1, 0]


def test_a_run_without_scores_does_not_displace_one_with(tmp_path: Path) -> None:
    lm_eval(tmp_path, "a", "2026-01-02T00-00-00", [row(0, acc=1.0)])
    lm_eval(tmp_path, "a", "2026-02-02T00-00-00", [row(0, acc=None)])
    assert read(tmp_path).response.tolist() == [1]


def test_settings_can_tell_learners_apart(tmp_path: Path) -> None:
    for name, solver in (("one", "plan"), ("two", "react")):
        log = log_seeds.HEADER | {"samples": log_seeds.INSPECT_SAMPLES}
        log["eval"] = log["eval"] | {"solver": solver}
        (tmp_path / f"{name}.json").write_text(json.dumps(log))
    together = load_logs([tmp_path]).merged
    assert together is not None
    assert together.repeated[0].differing == ["solver"]
    apart = load_logs([tmp_path], learner_by=["solver"]).table
    assert apart.learners == ("org/m (solver=plan)", "org/m (solver=react)")


def test_samples_that_mean_different_things_are_refused_and_named(tmp_path: Path) -> None:
    eee(tmp_path / "1.jsonl", "a", {"x": 1, "y": 0})
    eee(tmp_path / "2.jsonl", "b", {"x": 1, "y": 1}, hashes={"y": "another"})
    eee(tmp_path / "3.jsonl", "c", {"x": 0, "y": 1})
    found = load_logs([tmp_path])
    assert found.table.samples == ("quiz/x",)
    assert found.document()["refused_samples"] == [
        {
            "task": "quiz",
            "samples": ["quiz/y"],
            "sources": [str(tmp_path / "1.jsonl"), str(tmp_path / "2.jsonl")],
        }
    ]
    told = "\n".join(found.lines())
    assert "refused: 1 sample has different content" in told
    assert "--join content" in told
    by_content = read(tmp_path, join="content")
    assert by_content.n_samples == 3
    assert by_content.n_responses == 6


def test_nothing_left_to_join_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    eee(tmp_path / "1.jsonl", "a", {"y": 0})
    eee(tmp_path / "2.jsonl", "b", {"y": 1}, hashes={"y": "another"})
    with pytest.raises(DataError, match=r"nothing can be joined.*'quiz/y'.*--join content"):
        read(tmp_path)


def test_without_hashes_versions_of_the_task_must_agree(tmp_path: Path) -> None:
    for number, version in enumerate((1, 2)):
        reduced = [{"scorer": "s", "samples": [{"value": 1, "sample_id": 1}]}]
        log = log_seeds.HEADER | {"samples": None, "reductions": reduced}
        log["eval"] = log["eval"] | {"task_version": version, "model": f"m{number}"}
        (tmp_path / f"{number}.json").write_text(json.dumps(log))
    with pytest.raises(DataError, match="nothing can be joined"):
        read(tmp_path)


def test_the_metric_is_the_one_that_most_runs_have_then_the_first(tmp_path: Path) -> None:
    lm_eval(tmp_path, "a", "2026-01-02T00-00-00", [row(0, acc_norm=0.0, acc=1.0)])
    lm_eval(tmp_path, "b", "2026-01-02T00-00-00", [row(0, acc=1.0, f1=0.5)])
    lm_eval(tmp_path, "c", "2026-01-02T00-00-00", [row(0, acc=1.0, acc_norm=0.0)])
    found = load_logs([tmp_path]).merged
    assert found is not None
    chosen = found.chosen["quiz"]
    assert chosen is not None
    assert chosen.pair.metric == "acc"
    assert chosen.rule == "3 of 3 runs have this one, and of those it is listed first"
    assert {pair.metric for pair in chosen.others} == {"acc_norm", "f1"}
    other = load_logs([tmp_path], Choices(metric="f1")).merged
    assert other is not None
    assert other.table.learners == ("b",)
    assert [(one.learner, one.task, one.has) for one in other.lacking] == [
        ("a", "quiz", ["acc_norm", "acc"]),
        ("c", "quiz", ["acc", "acc_norm"]),
    ]


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"metric": "accuracy"}, "no task has metric 'accuracy'. There are 'acc'"),
        ({"filter": "strict"}, "no task has filter 'strict'. There are 'none'"),
        ({"tasks": ["quizz"]}, "no task is called 'quizz'. Did you mean 'quiz'"),
        ({"skills": ["topic"]}, "samples have no 'topic'"),
        ({"format": "lmeval"}, "no format is called 'lmeval'. Did you mean 'lm-eval'"),
    ],
)
def test_a_setting_that_does_not_fit_says_what_there_is(choices: dict, message: str, tmp_path: Path) -> None:
    lm_eval(tmp_path, "a", "2026-01-02T00-00-00", [row(0, acc=1.0)])
    with pytest.raises(SettingError, match=message):
        read(tmp_path, **choices)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"doc_id": 0, "doc": {}, "resps": [], "acc": 1', "does not have the content of this format"),
        ('{"doc_id": [], "doc": {}, "resps": [], "acc": 1}', r"doc_id is '\[\]'; expected a name"),
        ('{"doc_id": 0, "doc": {}, "resps": [], "acc": "good"}', "acc: not a single number"),
    ],
)
def test_a_bad_row_is_refused_at_its_place(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "samples_quiz_2026.jsonl").write_text(text + "\n")
    with pytest.raises(DataError, match=message):
        read(tmp_path)


def test_damaged_files_stop_loading_unless_told_otherwise(tmp_path: Path) -> None:
    eee(tmp_path / "1.jsonl", "a", {"x": 1})
    broken = eee(tmp_path / "2.jsonl", "b", {"x": 1, "y": 1})
    broken.write_text(broken.read_text()[:-20])
    with pytest.raises(DataError, match=r"2\.jsonl: line 2"):
        read(tmp_path)
    found = load_logs([tmp_path], skip_damaged=True)
    assert found.table.learners == ("a",)
    assert list(found.files.damaged) == [str(broken)]


def test_folders_without_logs_say_what_was_looked_for(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(DataError, match=r"no known log under .*1 files looked at.*lm-eval, inspect"):
        read(tmp_path)
    (tmp_path / "results_1.json").write_text(json.dumps(log_seeds.LM_RESULTS))
    with pytest.raises(DataError, match="Was the harness told to log samples"):
        read(tmp_path)
    with pytest.raises(DataError, match="no such file"):
        read(tmp_path / "absent")


def test_the_short_account_names_what_a_reader_must_know(tmp_path: Path) -> None:
    eee(tmp_path / "1.jsonl", "a", {"x": 1, "y": None})
    eee(tmp_path / "2.jsonl", "b", {"x": 1})
    assert load_logs([tmp_path]).notes() == [
        "2 logs (every-eval-ever); responses are score",
        "missing: 2 of 4 cells: 1 unscored, 1 not run",
    ]


def test_the_short_account_names_whom_the_metric_leaves_out_and_its_filter(tmp_path: Path) -> None:
    """Two of three runs have f1 behind strict; c has acc alone, and nothing scored gap."""
    time = "2026-01-02T00-00-00"
    for model in ("a", "b"):
        lm_eval(tmp_path, model, time, [row(0, f1=1.0) | {"filter": "strict"}])
    lm_eval(tmp_path, "c", time, [row(0, acc=1.0)])
    eee(tmp_path / "d.jsonl", "d", {"x": None}, task="gap")
    told = load_logs([tmp_path]).notes()
    assert told[0].endswith("responses are f1 behind strict")
    assert "without the metric, so left out: 1 runs. Another can be asked for: --metric, --filter." in told
    (line,) = [line for line in told if line.startswith("  c on quiz, which has acc: ")]
    assert line.endswith(f"samples_quiz_{time}.jsonl")
    assert "tasks on which no metric scored a sample, left out: 'gap'" in told


def test_links_to_folders_are_not_followed_in_circles(tmp_path: Path) -> None:
    eee(tmp_path / "1.jsonl", "a", {"x": 1})
    (tmp_path / "loop").symlink_to(tmp_path)
    assert read(tmp_path).n_responses == 1


def test_an_installed_package_can_bring_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real distribution on the path: metadata with an entry point, and the module it names."""
    site = tmp_path / "site"
    info = site / "quiz_loader-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: quiz-loader\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[camilla.loaders]\nquiz = quiz_loader:QUIZ\n")
    (site / "quiz_loader.py").write_text(
        "from camilla.reading.runs import Row, Run\n"
        "from camilla.reading.sniffing import Loader, Sniffed\n"
        "def sniff(peek):\n"
        "    return Sniffed(0.9, 'a file called .quiz') if peek.ending == '.quiz' else None\n"
        "def runs(path):\n"
        "    pairs = map(str.split, path.read_text().splitlines())\n"
        "    rows = [Row(name, float(score)) for name, score in pairs]\n"
        "    yield Run(path.stem, 'quiz', rows, source=str(path), format='quiz')\n"
        "QUIZ = Loader(sniff, runs)\n"
    )
    monkeypatch.syspath_prepend(site)
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs/ada.quiz").write_text("one 1\ntwo 0.25\n")
    table = read(tmp_path / "logs")
    assert (table.learners, table.samples) == (("ada",), ("quiz/one", "quiz/two"))
    assert table.response.tolist() == [1, 0.25]
    monkeypatch.delitem(sys.modules, "quiz_loader")


def test_a_broken_entry_point_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "site/bad_loader-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-loader\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[camilla.loaders]\nbad = not_there_at_all:X\n")
    monkeypatch.syspath_prepend(tmp_path / "site")
    with pytest.raises(CamillaError, match="the loader 'bad' of not_there_at_all:X cannot be loaded"):
        read(tmp_path)


def test_weights_and_trials_of_tables_come_along(tmp_path: Path) -> None:
    text = "learner,sample,response,weight,trial,cluster\na,x,1,2,0,k\na,x,0,1,1,k\nb,x,1,1,0,k\n"
    (tmp_path / "t.csv").write_text(text)
    table = read(tmp_path)
    assert table.weight is not None
    assert table.weight.tolist() == [2, 1, 1]
    assert (table.samples, table.task, table.cluster) == (("x",), ("t",), ("k",))
    assert table.cells().response.tolist() == [pytest.approx(2 / 3), 1]


def test_written_tables_join_with_fresh_logs_and_keep_what_they_know(tmp_path: Path) -> None:
    lm_eval(tmp_path / "old", "a", "2026-01-02T00-00-00", [row(0, acc=1.0), row(1, acc=0.0)])
    read(tmp_path / "old").write(tmp_path / "old.parquet")
    lm_eval(tmp_path / "new", "b", "2026-02-02T00-00-00", [row(0, acc=0.0), row(1, acc=1.0)])
    table = read(tmp_path / "old.parquet", tmp_path / "new")
    assert (table.learners, table.samples) == (("a", "b"), ("quiz/0", "quiz/1"))
    np.testing.assert_array_equal(table.matrix(), [[1, 0], [0, 1]])
    assert table.learner_metadata is not None
    assert table.learner_metadata["n_shot"].to_list() == ["5", "5"]
