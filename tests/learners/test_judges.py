"""Judges of the same answers: what is planted is found, what is not there is not, and no choice is silent."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import camilla
import command_line
from camilla.errors import CamillaWarning, DataError, SettingError
from camilla.learners.judges import ALL, Judges
from camilla.reading.inputs import collect, joined, read_with_account
from camilla.reading.joining import Choices, merge
from camilla.reading.judges import JudgedAnswers, answers_of_logs
from camilla.reading.runs import Collection, Row, Run

LEARNERS = ("ada", "bob", "eve", "joe")


def world(
    seed: int, *, n: int = 300, severe: float = 0.0, favour: float = 0.0, gaps: float = 0.0
) -> pl.DataFrame:
    """Three judges that err on a tenth of all answers alike, whoever gave them.

    `strict` turns a 1 into a 0 with probability `severe`; `kind` turns a 0 of ada into a 1 with `favour`.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for learner, level in zip(LEARNERS, (0.5, 0.6, 0.5, 0.7), strict=True):
        truth = rng.random(n) < level
        for judge in ("plain", "strict", "kind"):
            verdict = np.where(rng.random(n) < 0.9, truth, ~truth)
            if judge == "strict":
                verdict &= rng.random(n) >= severe
            if judge == "kind" and learner == "ada":
                verdict |= rng.random(n) < favour
            there = rng.random(n) >= gaps
            rows += [(learner, f"q{k}", judge, int(verdict[k])) for k in np.flatnonzero(there)]
    return pl.DataFrame(rows, schema=["learner", "sample", "judge", "response"], orient="row")


def frame_of(scores: dict[str, dict[str, list[float | None]]]) -> pl.DataFrame:
    """judge → learner → scores of the samples 0, 1, …"""
    rows = [
        {"learner": learner, "sample": str(k), "judge": judge, "response": score}
        for judge, of_judge in scores.items()
        for learner, given in of_judge.items()
        for k, score in enumerate(given)
        if score is not None
    ]
    return pl.DataFrame(rows)


def test_a_severe_judge_and_a_favoured_learner_are_found() -> None:
    """E(strict) falls by s·P(verdict 1), which moves the mean of three by a third: 2/3 is the difference.

    P(verdict 1) is .9 p + .1 (1 − p), over the learners' p of .5, .6, .5, .7.
    """
    found = camilla.judges(world(1, n=600, severe=0.3, favour=0.5))
    severity = {row["judge"]: row for row in found.severity.to_dicts()}
    said_one = np.mean([0.9 * p + 0.1 * (1 - p) for p in (0.5, 0.6, 0.5, 0.7)])
    raised = 0.5 * 0.5 / 4  # of ada's answers half are 0, and half of those become 1
    assert severity["strict"]["low"] <= -0.3 * said_one * 2 / 3 - raised / 3 <= severity["strict"]["high"]
    assert severity["strict"]["differs"]
    most = found.favours.filter("favours").sort("difference").to_dicts()[-1]
    assert (most["judge"], most["learner"]) == ("kind", "ada")
    assert most["low"] <= 0.5 * 0.5 * 2 / 3 <= most["high"] + 0.05


@pytest.mark.slow
def test_judges_that_favour_nobody_are_rarely_accused() -> None:
    """Holm at 5 % over twelve tests: of 200 worlds at most .05 + 3 √(.05 · .95 / 200) = .096 have any."""
    accused = [camilla.judges(world(seed, n=120, gaps=0.1)).favours["favours"].any() for seed in range(200)]
    assert np.mean(accused) < 0.096


def test_the_choice_changes_who_is_best() -> None:
    frame = frame_of(
        {
            "x": {"ada": [1, 1, 1, 0], "bob": [1, 0, 1, 0]},
            "y": {"ada": [1, 0, 0, 0], "bob": [1, 0, 1, 0]},
        }
    )
    found = camilla.judges(frame)
    assert found.answer.startswith("The choice of the judge changes who is best: ada under x; bob under y.")
    assert "No two learners are told apart in opposite directions" in found.answer
    assert found.best == {"x": ["ada"], "y": ["bob"], ALL: ["ada", "bob"]}
    assert found.taus.row(0) == ("x", "y", -1.0)


def test_judges_that_contradict_each_other_are_named() -> None:
    good, bad = [1.0] * 20, [0.0] * 20
    found = camilla.judges(frame_of({"x": {"ada": good, "bob": bad}, "y": {"ada": bad, "bob": good}}))
    assert set(found.contradictions) == {("ada", "bob"), ("bob", "ada")}
    assert found.answer.endswith("Judges tell ada and bob apart in opposite directions.")


def test_the_choice_changes_nothing_or_only_lower_ranks() -> None:
    x = {"ada": [1, 1, 1, 1], "bob": [1, 1, 0, 0], "eve": [1, 0, 0, 0]}
    same = camilla.judges(frame_of({"x": x, "y": x}))
    assert same.answer == (
        "The choice of the judge changes neither who is best nor any rank: "
        "ada is first under each of 2 judges."
    )
    assert (same.alpha.value, same.pairs["equal"].to_list()) == (1, [1])
    lower = camilla.judges(frame_of({"x": x, "y": x | {"bob": [0, 0, 0, 0]}}))
    assert (
        "does not change who is best, ada, but it changes the ranks of 2 learners: bob, eve" in lower.answer
    )


def test_boards_are_of_the_answers_that_all_judges_scored() -> None:
    """bob's last answer has one judge alone: it counts on no board, and is said."""
    frame = frame_of(
        {
            "x": {"ada": [1, 1, 0, 0], "bob": [1, 0, 1, 1]},
            "y": {"ada": [1, 0, 0, 1], "bob": [1, 0, 1, None]},
        }
    )
    found = camilla.judges(frame)
    assert (found.n_answers, found.n_alone, found.n_by_all) == (8, 1, 7)
    means = {
        name: dict(board.rows.select("learner", "mean").iter_rows()) for name, board in found.boards.items()
    }
    assert means["x"] == pytest.approx({"ada": 0.5, "bob": 2 / 3})
    assert means[ALL] == pytest.approx({"ada": 0.5, "bob": 2 / 3})
    assert any(note.startswith("1 of 8 answers were scored by one judge only") for note in found.notes)


def test_judges_without_a_common_answer_have_boards_of_their_own() -> None:
    """Each two judges share answers, and no answer has all three."""
    given: dict[str, dict[str, list[float | None]]] = {
        "x": {"ada": [1, 1, None], "bob": [0, 1, None]},
        "y": {"ada": [1, None, 0], "bob": [0, None, 1]},
        "z": {"ada": [None, 1, 0], "bob": [None, 0, 1]},
    }
    found = camilla.judges(frame_of(given))
    assert set(found.boards) == {"x", "y", "z"}
    assert any("no board of the mean over judges" in note for note in found.notes)


def test_judges_of_other_answers_are_left_out_and_named() -> None:
    frame = pl.concat(
        [
            frame_of({"x": {"ada": [1, 0, 1]}, "y": {"ada": [1, 1, 1]}}),
            frame_of({"other": {"zoe": [1, 0]}}),
        ]
    )
    found = camilla.judges(frame)
    assert found.judges == ("x", "y")
    assert "1 judge score other answers and are left out: 'other'" in found.notes[0]


def test_a_table_for_each_judge_says_the_same_as_a_column() -> None:
    frame = world(2, n=40, gaps=0.2)
    tables = {
        str(judge[0]): camilla.ResponseTable.from_long(part.drop("judge"))
        for judge, part in frame.group_by("judge", maintain_order=True)
    }
    one, other = camilla.judges(frame), camilla.judges(tables)
    assert one.to_document() == other.to_document()
    shuffled = camilla.judges(
        frame.sample(fraction=1, shuffle=True, seed=4), only=["plain", "strict", "kind"]
    )
    assert shuffled.alpha == pytest.approx(one.alpha)
    assert shuffled.answer == one.answer


def test_clusters_are_respected() -> None:
    """Samples that are four copies of one say no more than that one: the interval is that of 30 units."""
    frame = world(3, n=30)
    copies = pl.concat(
        [frame.with_columns(sample=pl.col("sample") + f"/{k}", cluster=pl.col("sample")) for k in range(4)]
    )
    one, many = camilla.judges(frame), camilla.judges(copies, cluster="cluster")
    assert many.pairs["kappa_low"].to_list() == pytest.approx(one.pairs["kappa_low"].to_list(), abs=1e-9)
    assert many.severity["low"].to_list() == pytest.approx(one.severity["low"].to_list(), abs=1e-9)
    assert one.provenance["n_clusters"] is None
    assert many.provenance["n_clusters"] == 30


def test_one_judge_is_nothing_to_compare(tmp_path: Path) -> None:
    frame_of({"x": {"ada": [1, 0]}}).write_csv(tmp_path / "one.csv")
    ran = command_line.camilla("judges", "one.csv", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.startswith("error: there is one judge, 'x', and nothing to compare it with.")
    assert "camilla rank" in ran.stderr
    frame_of({"x": {"ada": [1, 0]}}).drop("judge").write_csv(tmp_path / "none.csv")
    ran = command_line.camilla("judges", "none.csv", cwd=tmp_path)
    assert ran.returncode == 1
    assert "nothing names judges" in ran.stderr
    with pytest.raises(DataError, match="no two of the 2 judges"):
        camilla.judges(frame_of({"x": {"ada": [1, 0]}, "y": {"bob": [1, 0]}}))


def test_wrong_settings_are_errors() -> None:
    frame = frame_of({"x": {"ada": [1, 0]}, "y": {"ada": [1, 1]}})
    with pytest.raises(SettingError, match="no judge is called 'z'"):
        camilla.judges(frame, only=["x", "z"])
    with pytest.raises(DataError, match="there is one judge, 'x'"):
        camilla.judges(frame, only="x")
    with pytest.raises(SettingError, match="level must lie between 0 and 1"):
        camilla.judges(frame, level=95)
    with pytest.raises(DataError, match="no column 'rater'"):
        camilla.judges(frame, judge="rater")
    with pytest.raises(SettingError, match="cannot be the judge and"):
        camilla.judges(frame, judge="learner")
    with pytest.raises(SettingError, match="one ResponseTable for each judge"):
        camilla.judges({"x": frame, "y": frame})
    with pytest.raises(SettingError, match="no judge is called 'z'"):
        camilla.read(frame, metric="z")


def test_a_column_of_judges_is_read_as_one_judge_with_a_warning() -> None:
    frame = frame_of({"x": {"ada": [1, 0, 1]}, "y": {"ada": [1, 1, 1], "bob": [0, 0, 1]}})
    with pytest.warns(CamillaWarning, match=r"y was taken .* x \(equal on 67 % of 3 answers\)"):
        table = camilla.read(frame)
    assert table.learners == ("ada", "bob")
    one = camilla.read(frame, metric="x")
    assert (one.learners, one.response.tolist(), one.trial) == (("ada",), [1, 0, 1], None)
    renamed = frame.rename({"judge": "rater"})
    assert camilla.read(renamed, judge="rater", metric="x").response.tolist() == [1, 0, 1]


def test_the_mean_over_judges_is_of_answers_that_all_scored() -> None:
    frame = frame_of({"x": {"ada": [1, 0, 1]}, "y": {"ada": [1, 1, None], "bob": [0]}})
    table = camilla.read(frame, metric="all")
    assert (table.samples, table.response.tolist(), table.n_missing) == (("0", "1", "2"), [1, 0.5], 2)
    with pytest.raises(DataError, match="no answer was scored by all 2 judges"):
        camilla.read(frame_of({"x": {"ada": [1]}, "y": {"bob": [1]}}), metric="all")


def test_every_command_says_which_judge_was_taken(tmp_path: Path) -> None:
    world(5, n=30).write_csv(tmp_path / "judged.csv")
    ran = command_line.camilla("rank", "judged.csv", cwd=tmp_path)
    assert ran.returncode == 0
    assert "note: several judges score the same answers: plain was taken" in ran.stderr
    assert "2 others were passed over: strict (equal on " in ran.stderr
    assert "--metric NAME chooses one" in ran.stderr
    assert "camilla judges compares them" in ran.stderr
    for judge in ("strict", "all"):
        assert "several judges" not in command_line.camilla(
            "rank", "judged.csv", "--metric", judge, cwd=tmp_path
        ).stderr  # fmt: skip


def lm_eval(folder: Path, model: str, scores: dict[str, list[float]]) -> None:
    """A log with one line per sample and filter, as lm-evaluation-harness writes them."""
    inside = folder / model
    inside.mkdir(parents=True)
    rows = [
        {"doc_id": k, "doc": {"q": k}, "resps": [], "filter": filter, "metrics": ["exact_match"],
         "exact_match": score, "doc_hash": f"h{k}"}
        for filter, given in scores.items()
        for k, score in enumerate(given)
    ]  # fmt: skip
    time = "2026-01-21T03-44-18.000001"
    (inside / f"results_{time}.json").write_text(
        json.dumps({"model_name": model, "results": {"quiz": {}}, "configs": {"quiz": {}}})
    )
    (inside / f"samples_quiz_{time}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_filters_of_a_log_are_judges(tmp_path: Path) -> None:
    lm_eval(tmp_path, "m", {"strict": [1, 0, 0, 1], "loose": [1, 1, 0, 1]})
    lm_eval(tmp_path, "n", {"strict": [0, 0, 0, 0], "loose": [1, 1, 1, 1]})
    found = camilla.judges(tmp_path)
    assert found.judges == ("exact_match behind strict", "exact_match behind loose")
    assert found.pairs.select("n", "equal").row(0) == (8, 3 / 8)
    assert (
        "changes who is best: m under exact_match behind strict; n under exact_match behind loose"
        in found.answer
    )
    reading = read_with_account(tmp_path)
    assert (
        "1 other was passed over: exact_match behind loose (equal on 38 % of 8 answers)" in reading.notes()[1]
    )
    assert reading.document()["passed_over"][0]["others"][0]["n"] == 8
    mean = read_with_account(tmp_path, metric="all")
    np.testing.assert_array_equal(mean.table.matrix(), [[1, 0.5, 0, 1], [0.5, 0.5, 0.5, 0.5]])
    (task,) = mean.document()["tasks"]
    assert task["rule"] == "as requested, the mean of exact_match behind strict, exact_match behind loose"
    assert mean.passed_over == []


def test_files_of_two_annotators_are_judges_of_the_same_answers(tmp_path: Path) -> None:
    for annotator, preferences in (("j", [2, 1, 2, 1]), ("k", [2, 2, 2, 1])):
        rows = [
            {"instruction": f"Do {i}.", "dataset": "d", "generator_1": "base", "generator_2": "m",
             "annotator": annotator, "preference": preference}
            for i, preference in enumerate(preferences)
        ]  # fmt: skip
        (tmp_path / annotator).mkdir()
        (tmp_path / annotator / "annotations.json").write_text(json.dumps(rows))
    found = camilla.judges(tmp_path)
    assert found.pairs.select("a", "b", "n", "equal").row(0) == ("j", "k", 4, 0.75)
    assert sorted(camilla.read(tmp_path, metric="k").response) == [0, 1, 1, 1]
    assert sorted(camilla.read(tmp_path, metric="all").response) == [0, 0.5, 1, 1]


def facet_of(rows: list[Row]) -> JudgedAnswers:
    collection = Collection()
    collection.add(Run("m", "quiz", rows, source="log", format="made"))
    merged = merge(collection)
    return answers_of_logs(merged, collection.codes, Choices())


def test_scores_of_one_trial_stay_together_when_another_has_none() -> None:
    facet = facet_of(
        [
            Row("s", None, "x", trial=0, why="unscored"),
            Row("s", 1.0, "x", trial=1),
            Row("s", 1.0, "y", trial=0),
            Row("s", 0.0, "y", trial=1),
        ]
    )
    by_trial = {tuple(np.nan_to_num(row, nan=-1)) for row in facet.score}
    assert (facet.judges, by_trial) == (("x", "y"), {(1.0, 0.0), (-1.0, 1.0)})


def test_errors_are_missing_under_every_judge() -> None:
    facet = facet_of(
        [Row("s", 0.0, "x", why="errored"), Row("s", 1.0, "y"), Row("t", 1.0, "x"), Row("t", 1.0, "y")]
    )
    assert int(np.isnan(facet.score).sum()) == 1


def test_tables_with_judges_are_joined_like_logs(tmp_path: Path) -> None:
    frame_of({"x": {"ada": [1, 0]}, "y": {"ada": [1, 1]}}).write_csv(tmp_path / "a.csv")
    frame_of({"x": {"bob": [0, 0]}, "y": {"bob": [0, 1]}}).write_csv(tmp_path / "b.csv")
    found = camilla.judges(tmp_path / "a.csv", tmp_path / "b.csv")
    assert (found.judges, found.n_answers) == (("x", "y"), 4)
    chosen = joined(collect([tmp_path]), Choices(metric="y")).table
    assert sorted(chosen.response) == [0, 1, 1, 1]


def document(found: Judges) -> dict[str, Any]:
    return json.loads(json.dumps(found.to_document(), allow_nan=True))  # type: ignore[no-any-return]


def test_the_command_prints_and_gives_json(tmp_path: Path) -> None:
    frame = world(7, n=60, severe=0.4)
    frame.write_csv(tmp_path / "judged.csv")
    ran = command_line.camilla("judges", "judged.csv", cwd=tmp_path)
    assert ran.returncode == 0
    assert ran.stdout.startswith("The choice of the judge ")
    for part in (
        "Krippendorff's alpha",
        "Pairs of judges",
        "Severity",
        "Mean under each judge",
        "Kendall's tau",
    ):
        assert part in ran.stdout
    ran = command_line.camilla(
        "judges", "judged.csv", "--only", "plain", "--only", "kind", "--json", cwd=tmp_path
    )
    told = json.loads(ran.stdout)
    assert told["judges"] == ["plain", "kind"]
    assert set(told) == {"schema", *document(camilla.judges(frame))}
    graded = frame.with_columns(response=pl.col("response") * 0.8)
    assert "correlation" in camilla.judges(graded).text()


def test_files_of_several_judges_of_mt_bench_are_compared(tmp_path: Path) -> None:
    """Each judge writes a file of its own; both score the same answers."""
    folder = tmp_path / "mt_bench" / "model_judgment"
    folder.mkdir(parents=True)
    for judge, ratings in {"gpt-4": (9, 3, 5, 10), "claude": (8, 3, 1, 10)}.items():
        same = {
            "model": "vicuna",
            "judge": [judge, "single-v1"],
            "turn": 1,
            "user_prompt": "",
            "judgment": "",
        }
        lines = [{"question_id": 81 + at, "score": rating} | same for at, rating in enumerate(ratings)]
        text = "\n".join(json.dumps(line) for line in lines)
        (folder / f"{judge}_single.jsonl").write_text(text)
    found = camilla.judges(folder)
    assert set(found.judges) == {"rating by gpt-4", "rating by claude"}
    assert found.pairs["n"].to_list() == [4]
    assert found.pairs["equal"].to_list() == [0.5]
