"""Whatever a caller has, a table, a frame, a path or logs, comes in by one door."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import camilla
from camilla.errors import CamillaError, CamillaWarning, DataError, SettingError

WORLD = camilla.simulate(24, 40, seed=3).table
LONG = WORLD.to_long()
WIDE = LONG.pivot("learner", index="sample", values="response")
GROUPS = {name: "new" if at % 2 else "old" for at, name in enumerate(WORLD.learners)}

CALLS: dict[str, Callable[..., Any]] = {
    "check": lambda table, **more: camilla.check(table, **more).findings[0].says,
    "rank": lambda table, **more: camilla.rank(table, **more).rows.rows(),
    "power": lambda table, **more: camilla.power(table, **more).design,
    "compare": lambda table, **more: camilla.compare(table, *WORLD.learners[:2], **more).overall,
    "diagnose": lambda table, **more: camilla.diagnose(table, "vanilla", **more).learners.rows(),
    "items": lambda table, **more: camilla.items(table, **more).samples.rows(),
    "dif": lambda table, **more: camilla.dif(table, GROUPS, **more).samples.rows(),
    "select": lambda table, **more: camilla.select(table, 5, folds=2, repeats=1, **more).samples.rows(),
    "skills": lambda table, **more: camilla.skills(table, 2, **more).skill_map.skills,
    "split": lambda table, **more: [part.digest() for part in camilla.split(table, **more)],
}


@pytest.mark.parametrize("name", CALLS)
def test_every_function_takes_a_frame_or_a_path_as_it_takes_a_table(name: str, tmp_path: Path) -> None:
    """The result is that of the table, whatever brings the responses: to the last bit."""
    LONG.write_csv(tmp_path / "runs.csv")
    expected = repr(CALLS[name](WORLD))
    for source in (LONG, pd.DataFrame(LONG.to_dict(as_series=False)), tmp_path / "runs.csv"):
        assert repr(CALLS[name](source)) == expected
    assert repr(CALLS[name](str(tmp_path / "runs.csv"))) == expected
    assert repr(CALLS[name](WIDE, rows="samples")) == expected


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", [None, 7, ["a", "b"], {"a": 1}, WORLD.matrix()], ids=type)
def test_anything_else_is_refused_with_what_came_and_what_is_taken(name: str, wrong: Any) -> None:
    with pytest.raises(CamillaError, match=f"a response table, a dataframe.*got {type(wrong).__name__}"):
        CALLS[name](wrong)


def test_single_names_stand_for_lists_of_names(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sample,a,b,note\n1,1,NA,x\n2,0,1,y\n")
    table = camilla.read(tmp_path / "t.csv", rows="samples", missing="NA", ignore="note")
    assert (table.learners, table.n_missing) == (("a", "b"), 1)
    plan = camilla.power(camilla.Design(discordance=0.1), differences=0.05, samples=400)
    assert (len(plan.needed), len(plan.seen)) == (1, 1)
    board = camilla.experiment("reliability", WORLD, diagnosers="vanilla", seeds=0)
    assert set(board["diagnoser"]) == {"vanilla"}


def test_skills_are_named_by_a_list_of_columns_in_tables_and_logs(tmp_path: Path) -> None:
    frame = LONG.with_columns(topic=pl.col("sample").str.slice(-1))
    direct = camilla.read(frame, skills=["topic"]).skill_map
    assert direct is not None
    assert direct.skills == camilla.read(frame, skills=":topic").skill_map.skills  # type: ignore[union-attr]


def test_options_that_do_not_exist_or_cannot_act_are_errors(tmp_path: Path) -> None:
    LONG.write_csv(tmp_path / "runs.csv")
    with pytest.raises(SettingError, match=r"nothing .* called 'metrics'\. Did you mean 'metric'"):
        camilla.read(tmp_path / "runs.csv", metrics="acc")  # type: ignore[call-arg]
    with pytest.raises(SettingError, match=r"--metric does nothing on a table .* the dataframe has none"):
        camilla.read(LONG, metric="acc")
    with pytest.raises(SettingError, match="--learner does nothing on logs"):
        camilla.read(tmp_path, learner="learner")
    with pytest.raises(SettingError, match="rows is 'samples' or 'learners'"):
        camilla.read(LONG, rows="columns")  # type: ignore[arg-type]


def lm_eval_log(folder: Path, learner: str, right: list[int]) -> Path:
    """A log of lm-evaluation-harness with these scores."""
    folder.mkdir(parents=True)
    rows = [
        {"doc_id": at, "doc": {"question": f"q{at}"}, "target": "A", "resps": [["A"]], "doc_hash": f"h{at}",
         "filter": "none", "metrics": ["acc"], "acc": float(score)}
        for at, score in enumerate(right)
    ]  # fmt: skip
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (folder / "samples_quiz_2026-01-21T03-44-18.000001.jsonl").write_text(text)
    (folder / "results_2026-01-21T03-44-18.000001.json").write_text(
        json.dumps({"model_name": learner, "results": {"quiz": {}}, "configs": {"quiz": {}}})
    )
    return folder


A, B = [1, 1, 1, 0, 1, 0, 1, 1], [1, 0, 1, 0, 0, 0, 1, 1]


def test_two_paths_are_compared_as_the_command_does(tmp_path: Path) -> None:
    a, b = lm_eval_log(tmp_path / "a", "m", A), lm_eval_log(tmp_path / "b", "m", B)
    found = camilla.compare(a, b, metric="acc")
    assert (found.a, found.b) == (str(a), str(b))
    assert found.overall.difference == np.mean(B) - np.mean(A)
    with pytest.raises(SettingError, match="cannot be compared with itself"):
        camilla.compare(a, str(a))
    with pytest.raises(SettingError, match="is inside the other"):
        camilla.compare(tmp_path, a)
    with pytest.raises(SettingError, match="no task has metric 'f1'"):
        camilla.compare(a, b, metric="f1")
    lm_eval_log(tmp_path / "b" / "other", "n", B)
    with pytest.raises(DataError, match="2 learners, 'm', 'n'; expected one"):
        camilla.compare(a, b)


def test_comparing_decodes_each_log_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from camilla.reading.formats import lm_eval

    opened: list[Path] = []

    def counted(path: Path, whole: Any = lm_eval.runs) -> Any:
        opened.append(path)
        return whole(path)

    monkeypatch.setattr(lm_eval, "runs", counted)
    a, b = lm_eval_log(tmp_path / "a", "m", A), lm_eval_log(tmp_path / "b", "n", B)
    camilla.compare(a, b)
    assert sorted(path.parent.name for path in opened) == ["a", "b"]


def test_frames_of_one_learner_each_are_compared() -> None:
    one, other = (pd.DataFrame({"learner": "m", "sample": range(8), "response": right}) for right in (A, B))
    found = camilla.compare(one, other)
    assert (found.a, found.b, found.overall.difference) == ("A", "B", np.mean(B) - np.mean(A))


def test_rows_that_repeat_a_learner_and_sample_are_said(tmp_path: Path) -> None:
    """Four rows, one pair twice: a warning, the mean, and the same in the account."""
    path = tmp_path / "t.csv"
    path.write_text("learner,sample,response\na,1,1\na,1,0\na,2,1\nb,1,0\n")
    with pytest.warns(CamillaWarning, match="1 row repeats the learner and sample of another row"):
        table = camilla.read(path)
    assert table.matrix()[0].tolist() == [0.5, 1]
    reading = camilla.read_with_account(path)
    assert reading.document()["repeated_rows"] == 1
    assert any("1 row repeats" in note for note in reading.notes())
    with pytest.warns(CamillaWarning, match="1 row repeats"):
        camilla.check(pl.read_csv(path))
    with pytest.warns(CamillaWarning, match="1 row repeats"):
        camilla.read(tmp_path)


def test_named_trials_are_not_repeated_rows() -> None:
    frame = pl.DataFrame({"learner": "a", "sample": [1, 1, 2], "response": [1, 0, 1], "run": [0, 1, 0]})
    assert camilla.read(frame, trial="run").n_responses == 3


def test_two_benchmarks_that_number_their_samples_alike_stay_apart_in_one_long_table(tmp_path: Path) -> None:
    """Two tasks of two samples each: four samples, with the task named and as `camilla load` reads it."""
    path = tmp_path / "t.csv"
    path.write_text("task,learner,sample,response\nx,a,1,1\nx,a,2,0\ny,a,1,0\ny,a,2,0\nx,b,1,1\ny,b,1,0\n")
    for table in (camilla.read(path, task="task"), camilla.read(tmp_path)):
        assert sorted(zip(table.samples, table.task or (), strict=True)) == [
            ("x/1", "x"), ("x/2", "x"), ("y/1", "y"), ("y/2", "y"),
        ]  # fmt: skip
        assert table.n_responses == 6
    with pytest.warns(CamillaWarning, match=r"samples of several tasks, name the column of the task: task="):
        assert camilla.read(path).n_samples == 2


def test_a_sample_of_two_tasks_that_nobody_answered_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("task,learner,sample,response\nx,a,1,1\ny,b,1,0\n")
    with pytest.raises(camilla.DataError, match="has task 'x' and, in line 3, 'y'"):
        camilla.read(path, task="task")


def test_a_frame_without_columns_is_said_to_have_none() -> None:
    with pytest.raises(camilla.DataError, match="has no columns; expected"):
        camilla.read(pd.DataFrame())


def test_numbers_where_names_are_wanted_are_refused_with_the_names_there_are() -> None:
    frame = pd.DataFrame({"learner": [1, 1, 2, 2], "sample": [1, 2, 1, 2], "response": [1, 0, 0, 1]})
    with pytest.raises(camilla.DataError, match=r"no learner 1 in the table\. Did you mean '1'"):
        camilla.compare(frame, 1, 2)  # type: ignore[arg-type]
