"""Files of any layout: what a recipe reads, what it refuses, and the recipe that a refusal proposes."""

import json
import re
import shlex
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import mutated

import camilla
import command_line
from camilla.errors import CamillaError, DataError, LayoutError, SettingError
from camilla.reading.inputs import read_with_account
from camilla.reading.mapped import loader, read_mapped
from camilla.reading.proposing import proposal
from camilla.reading.recipes import recipe_of
from camilla.table.columns import Scale

Rows = list[dict[str, Any]]
ROWS: Rows = [
    {"model": "a", "id": "q1", "score": 1},
    {"model": "a", "id": "q2", "score": 0.5},
    {"model": "b", "id": "q1", "score": 0},
    {"model": "b", "id": "q2", "score": None},
]


def put(path: Path, value: Any) -> Path:
    """A file whose ending says how the value is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in value), encoding="utf-8")
    elif path.suffix == ".csv":
        pl.DataFrame(value).write_csv(path)
    elif path.suffix == ".parquet":
        pl.DataFrame(value).write_parquet(path)
    elif path.suffix == ".arrow":
        pl.DataFrame(value).write_ipc(path)
    else:
        path.write_text(json.dumps(value), encoding="utf-8")
    return path


def nested(rows: Rows) -> Any:
    return {"run": {"results": [{"who": {"name": row["model"]}, **row} for row in rows]}}


def by_learner(rows: Rows) -> Any:
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        found.setdefault(row["model"], {})[row["id"]] = {"score": row["score"]}
    return {"models": found}


def columns(rows: Rows) -> Any:
    return {name: [row[name] for row in rows] for name in ("model", "id", "score")}


FLAT = "learner=model,sample=id,response=score"
LAYOUTS: dict[str, tuple[str, Callable[[Rows], Any], str]] = {
    "lines": ("r.jsonl", list, FLAT),
    "an array": ("r.json", list, FLAT),
    "csv": ("r.csv", list, FLAT),
    "parquet": ("r.parquet", list, FLAT),
    "nested": (
        "r.json",
        nested,
        "learner=run.results[].who.name,sample=run.results[].id,response=run.results[].score",
    ),
    "nested parquet": (
        "r.parquet",
        lambda rows: [{"run": row} for row in rows],
        "learner=run.model,sample=run.id,response=run.score",
    ),
    "by key": (
        "r.json",
        by_learner,
        "learner=models.{key},sample=models.*.{key},response=models.*.*.score",
    ),
    "columns": ("r.json", columns, "learner=model[],sample=id[],response=score[]"),
    "split": (
        "r.json",
        lambda rows: {"data": [[row["model"], row["id"], row["score"]] for row in rows]},
        "learner=data[][0],sample=data[][1],response=data[][2]",
    ),
    "lines called json": ("r.json", None, FLAT),  # type: ignore[dict-item]
}


@pytest.mark.parametrize("layout", LAYOUTS)
@given(st.data())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_mapped_file_is_the_same_data_as_a_long_table(layout: str, data: st.DataObject) -> None:
    """Whatever the layout, the table is that of the same rows with the usual columns."""
    name = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=4)
    score = st.one_of(st.none(), st.floats(0, 1, allow_subnormal=False), st.sampled_from([0.0, 1.0]))
    cells = data.draw(st.dictionaries(st.tuples(name, name), score, min_size=1, max_size=12))
    if all(value is None for value in cells.values()):
        return
    rows = [{"model": model, "id": sample, "score": value} for (model, sample), value in cells.items()]
    file, lay_out, recipe = LAYOUTS[layout]
    with TemporaryDirectory() as folder:
        path = Path(folder, file)
        if lay_out is None:
            put(path.with_suffix(".jsonl"), rows).rename(path)
        else:
            put(path, lay_out(rows))
        mapped = camilla.read(path, map=recipe)
        frame = pl.DataFrame(rows, schema={"model": pl.String, "id": pl.String, "score": pl.Float64})
        long = camilla.ResponseTable.from_long(frame, learner="model", sample="id", response="score")
    assert mapped.digest() == long.digest()
    assert mapped.n_missing == long.n_missing


@pytest.mark.parametrize("stream", [False, True])
def test_arrow_files_and_streams_are_read(stream: bool, tmp_path: Path) -> None:
    path = tmp_path / "r.arrow"
    frame = pl.DataFrame([{"run": row} for row in ROWS])
    (frame.write_ipc_stream if stream else frame.write_ipc)(path)
    table = camilla.read(path, map="learner=run.model,sample=run.id,response=run.score")
    assert table.digest() == camilla.read(put(tmp_path / "r.json", ROWS), map=FLAT).digest()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(DataError, match="Arrow"):
        camilla.read(path, map=FLAT)


def test_text_dictionary_and_toml_are_the_same_recipe(tmp_path: Path) -> None:
    path = put(tmp_path / "r.jsonl", [row | {"score": (row["score"] or 0) * 9 + 1} for row in ROWS])
    toml = tmp_path / "recipe.toml"
    toml.write_text('learner = "model"\nsample = "id"\nresponse = "score"\nscale = "1:10"\n')
    entries = {"learner": "model", "sample": "id", "response": "score", "scale": (1, 10)}
    tables = [camilla.read(path, map=one) for one in (f"{FLAT},scale=1:10", entries, toml, str(toml))]
    assert len({table.digest() for table in tables}) == 1
    assert tables[0].response.tolist() == [1, 0.5, 0, 0]
    beside = camilla.read(path, map="learner=model,sample=id", response="score", scale="1:10")
    assert beside.digest() == tables[0].digest()


@pytest.mark.parametrize(
    ("values", "recipe", "wanted"),
    [
        ([True, False], "", [1, 0]),
        (["1", "0.25"], "", [1, 0.25]),
        (["true", "False"], "", [1, 0]),
        (["Pass", "fail"], ",right=pass|correct,wrong=fail", [1, 0]),
        (["C", "I"], ",right=C,wrong=I,lower-is-better", [1, 0]),
        ([3, "best", "worst"], ",right=best,wrong=worst,scale=1:5", [0.5, 1, 0]),
        ([1, 10, 5.5], ",scale=1:10", [0, 1, 0.5]),
        ([0, 4, 1], ",scale=0:4,lower-is-better", [1, 0, 0.75]),
        ([70, 30], ",scale=0:100", [0.7, 0.3]),
        ([-1, 0.5], ",scale=-1:1", [0, 0.75]),
    ],
)
def test_responses_are_truth_values_numbers_texts_and_the_words_of_the_recipe(
    values: list[Any], recipe: str, wanted: list[float], tmp_path: Path
) -> None:
    rows = [{"model": "a", "id": str(at), "score": value} for at, value in enumerate(values)]
    path = put(tmp_path / "r.json", rows)
    np.testing.assert_allclose(camilla.read(path, map=FLAT + recipe).response, wanted, rtol=0, atol=1e-15)


def test_missing_stays_missing_and_what_has_no_name_is_passed_over(tmp_path: Path) -> None:
    rows = [{"header": 1}, *ROWS, {"model": "b", "id": "q3", "score": "n/a"}, {"model": "b", "id": "q4"}]
    table = camilla.read(put(tmp_path / "r.jsonl", rows), map=f"{FLAT},missing=n/a")
    assert (table.n_responses, table.n_missing) == (3, 3)
    assert table.samples == ("q1", "q2", "q3", "q4")


def test_constants_and_names_of_files_stand_for_what_a_file_does_not_say(tmp_path: Path) -> None:
    for folder, name in (("a", "one"), ("b", "two")):
        put(tmp_path / folder / f"{name}.jsonl", [{"score": 1}, {"score": 0}])
    found = camilla.read(tmp_path, map="learner='{folder}-{file}',sample={row},response=score")
    assert found.learners == ("a-one", "b-two")
    assert found.samples == ("1", "2")
    one = tmp_path / "a/one.jsonl"
    assert camilla.read(one, map="learner='gpt-4',sample={row},response=score").learners == ("gpt-4",)
    joined = camilla.read(one, map="learner={folder}+'x',sample={row}+{file},response=score")
    assert (joined.learners, joined.samples) == (("a/x",), ("1/one", "2/one"))


def test_every_role_that_a_table_has_is_kept(tmp_path: Path) -> None:
    rows = [
        {"m": m, "q": q, "s": 1, "k": k, "t": "math", "c": "c1", "w": 2, "gold": "B", "said": "A",
         "p": "ask " + q}
        for m in "ab" for q in ("q1", "q2") for k in (3, 4)
    ]  # fmt: skip
    recipe = "learner=m,sample=q,response=s,trial=k,task=t,cluster=c,weight=w,key=gold,answer=said,prompt=p"
    path = put(tmp_path / "r.jsonl", rows)
    table = camilla.read(path, map=recipe)
    assert table.trial is not None
    assert set(table.trial.tolist()) == {3, 4}
    assert (table.task, table.cluster, table.key) == (("math",) * 2, ("c1",) * 2, ("B",) * 2)
    assert table.answer is not None
    assert table.answer.unique().to_list() == ["A"]
    assert table.weight is not None
    assert set(table.weight.tolist()) == {2}
    assert table.sample_metadata is not None
    assert table.sample_metadata["text"].to_list() == [
        "ask q1",
        "ask q2",
    ]
    runs = list(loader(recipe_of(recipe + ",reference=gold")).runs(path))
    content = runs[0].content()  # type: ignore[misc]
    assert content.asked["q1"][:2] == ("ask q1", "B")
    assert [(one.sample, one.trial, one.answer) for one in content.answers][:2] == [
        ("q1", 0, "A"),
        ("q1", 1, "A"),
    ]


def test_several_files_are_joined_as_logs_are_and_tasks_are_never_mixed(tmp_path: Path) -> None:
    for name, right in (("gsm8k", 1), ("mmlu", 0)):
        rows = [{"model": m, "id": q, "score": right} for m in "ab" for q in ("1", "2")]
        put(tmp_path / f"{name}.json", rows)
    put(tmp_path / "settings.json", {"seed": 1})
    reading = read_with_account(tmp_path, map=FLAT)
    assert reading.table.samples == ("gsm8k/1", "gsm8k/2", "mmlu/1", "mmlu/2")
    assert reading.files.unknown == [str(tmp_path / "settings.json")]
    assert "several benchmarks" in " ".join(reading.notes())
    apart = camilla.read(tmp_path, map=FLAT + ",task={file}")
    assert apart.task == ("gsm8k", "gsm8k", "mmlu", "mmlu")


def test_a_sample_of_two_tasks_is_called_by_its_task(tmp_path: Path) -> None:
    rows = [{"model": "a", "id": 1, "score": 1, "task": task} for task in ("x", "y")]
    table = camilla.read(put(tmp_path / "r.json", rows), map=FLAT + ",task=task")
    assert table.samples == ("x/1", "y/1")


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.json"])
def test_what_lies_outside_the_scale_is_refused_with_file_and_line(name: str, tmp_path: Path) -> None:
    rows = [{"model": "a", "id": str(at), "score": value} for at, value in enumerate((1, 11, 5))]
    path = put(tmp_path / name, rows)
    place = {"r.csv": "line 3", "r.jsonl": "line 2", "r.json": "row 2"}[name]
    with pytest.raises(DataError, match=rf"{name}: .*\[1, 10\]; {place}, column 'score' has .?11") as error:
        camilla.read(path, map=FLAT + ",scale=1:10")
    assert "1 of 3 rows is wrong" in str(error.value)
    if name != "r.json":
        with pytest.raises(DataError, match=rf"{name}: .*{place}, column 'score' has .?11"):
            camilla.read(path, learner="model", sample="id", response="score", scale="1:10")


def test_the_place_of_a_wrong_value_is_its_path(tmp_path: Path) -> None:
    path = put(tmp_path / "r.json", by_learner([*ROWS, {"model": "b", "id": "q3", "score": "maybe"}]))
    with pytest.raises(DataError, match=r"models\.b\.q3.*'maybe'.*right=…, wrong=…"):
        camilla.read(path, map=LAYOUTS["by key"][2])
    with pytest.raises(DataError, match=r"models\.a\.q1 has an object with the keys 'score'.*\[\]"):
        camilla.read(path, map="learner=models.{key},sample=models.*.{key},response=models.*.*")


@pytest.mark.parametrize("rows", [None, "samples"])
def test_a_scale_acts_on_long_and_wide_tables_alike(rows: Any, tmp_path: Path) -> None:
    long = {"learner": ["a", "b"], "sample": ["q", "q"], "response": [2, 5]}
    wide = {"sample": ["q"], "a": [2], "b": [5]}
    path = put(tmp_path / "r.csv", long if rows is None else wide)
    table = camilla.read(path, rows=rows, scale="1:5", lower_is_better=True)
    assert table.matrix().ravel().tolist() == [0.75, 0]
    assert table.scale == Scale(1, 5, lower_is_better=True)
    with pytest.raises(SettingError, match="not both"):
        camilla.read(path, rows=rows, scale="0:100", percent=True)


def test_a_diagnosis_says_on_which_scale_its_responses_came(tmp_path: Path) -> None:
    rows = [{"m": m, "q": f"q{at}", "s": 1 + (at * 3 + ord(m)) % 5} for m in "abc" for at in range(8)]
    path = put(tmp_path / "r.jsonl", rows)
    table = camilla.read(path, map="learner=m,sample=q,response=s,scale=1:5")
    again = camilla.read(table.write(tmp_path / "t.parquet"))
    assert again.scale == Scale(1, 5)
    found = camilla.diagnose(again, "vanilla")
    found.save(tmp_path / "d")
    loaded = camilla.Diagnosis.load(tmp_path / "d")
    assert loaded.provenance["response_scale"] == {"low": 1, "high": 5, "lower_is_better": False}
    assert "Responses came on the scale 1 to 5" in loaded.text()
    assert camilla.rank(again).provenance["response_scale"]["high"] == 5


def test_two_files_are_compared_by_a_recipe(tmp_path: Path) -> None:
    for name, shift in (("a", 0), ("b", 1)):
        put(tmp_path / f"{name}.jsonl", [{"q": f"q{n}", "s": 1 + (n + shift) % 4} for n in range(6)])
    recipe = "learner={file},sample=q,response=s,scale=1:5,key=q"
    found = camilla.compare(tmp_path / "a.jsonl", tmp_path / "b.jsonl", map=recipe)
    assert (found.a, found.b, found.overall.n) == ("a", "b", 6)
    assert found.provenance["response_scale"]["high"] == 5
    joined = camilla.read(tmp_path, map=recipe)
    assert (joined.scale, joined.key) == (Scale(1, 5), tuple(f"q{n}" for n in range(6)))


@pytest.mark.parametrize(
    ("recipe", "why"),
    [
        ("learner=model,sample=id", "says nothing about the response"),
        ("learner=model,sample=id,response=score,colour=red", "nothing is called 'colour'"),
        ("learner=model,sample=id,response=score,judge=x", "nothing is called 'judge'"),
        ("learner=model,sample=id,response=a..b", "is not a path"),
        ("learner=model,sample=a[].b,response=score", "does not match response"),
        ("learner=model,sample=id,response='x'", "not a path to values"),
        ("learner=model,learner=m,sample=id,response=score", "given twice"),
        ("learner=model,sample=id,response=score,scale=5:1", "LOW:HIGH"),
        ("learner=model,sample=id,response=score,right=a,wrong=A", "right and wrong"),
        ("learner model", "is not a role=path"),
        ("nowhere.toml", "cannot be read"),
        ("learner=model,sample=id,response=" + "[]" * 30, "more than 20"),
    ],
)
def test_a_recipe_that_cannot_be_followed_is_a_setting_error(recipe: str, why: str, tmp_path: Path) -> None:
    path = put(tmp_path / "r.jsonl", ROWS)
    with pytest.raises(SettingError, match=re.escape(why)):
        camilla.read(path, map=recipe)
    run = command_line.camilla("rank", path, "--map", recipe, cwd=tmp_path)
    assert run.returncode == 2
    assert why in run.stderr


def test_options_that_a_recipe_leaves_without_effect_are_errors(tmp_path: Path) -> None:
    path = put(tmp_path / "r.jsonl", ROWS)
    with pytest.raises(SettingError, match="--rows does nothing with a recipe"):
        camilla.read(path, map=FLAT, rows="samples")
    with pytest.raises(SettingError, match="learner is given twice"):
        camilla.read(path, map=FLAT, learner="id")
    run = command_line.camilla("load", path, "--scale", "1:5", cwd=tmp_path)
    assert (run.returncode, "does nothing without a recipe" in run.stderr) == (2, True)


def test_a_path_that_leads_nowhere_shows_what_there_is_and_what_would_read(tmp_path: Path) -> None:
    path = put(tmp_path / "r.jsonl", ROWS)
    with pytest.raises(
        LayoutError, match=r"nothing at points.*contains model, id, score\. .*--map learner=model"
    ):
        camilla.read(path, map="learner=model,sample=id,response=points")


PROPOSED: dict[str, tuple[str, Any]] = {
    "MT-Bench": (
        "j.jsonl",
        [
            {"question_id": q, "model": m, "judge": ["gpt-4"], "score": 1 + q % 9, "turn": turn, "at": 1.5}
            for q in range(81, 89) for m in ("alpaca", "vicuna") for turn in (1, 2)
        ],
    ),
    "trials": (
        "gpt-4o-airline.json",
        [{"case_id": t, "reward": t % 2, "info": {"x": 1}, "trial": k} for t in range(4) for k in (0, 1)],
    ),
    "pass and fail": (
        "evals.json",
        {"checks": {f"case/{n}": [{"c": 1, "unit_status": ("pass", "fail")[n % 2]}] for n in range(5)}},
    ),
    "by model and question": (
        "all.json",
        {m: {f"q{n}": {"score": n % 2, "s": 1.5} for n in range(4)} for m in ("gpt-4", "claude-3")},
    ),
    "conditions": (
        "runs.jsonl",
        [
            {"task_id": t, "model": m, "harness": h, "seed": s, "passed": (t + s) % 2 == 0}
            for t in range(3) for m in ("x", "y") for h in ("plain", "react") for s in (0, 1)
        ],
    ),
    "camel case and a header": (
        "evaluation.jsonl",
        [{"spec": {"n": 2}}, *({"sampleId": f"s{n}", "data": {"isCorrect": n % 2 == 0}} for n in range(4))],
    ),
    "odd keys": (
        "odd.json",
        [{"model": "a", "doc_id": n, "acc,none": n % 2, "x\x1b[31m": 1} for n in range(4)],
    ),
    "csv": (
        "scores.csv",
        [{"system": s, "item": n, "is_correct": n % 2 == 0} for s in "ab" for n in range(3)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("layout", PROPOSED)
def test_the_recipe_that_a_refusal_proposes_reads_the_file(layout: str, tmp_path: Path) -> None:
    name, value = PROPOSED[layout]
    path = put(tmp_path / "demo" / name, value)
    refused = command_line.camilla("load", path, cwd=tmp_path)
    assert refused.returncode == 1
    assert "\x1b" not in refused.stderr
    recipe = shlex.split(refused.stderr.split("This recipe reads it: ")[1])[1]
    size = re.search(r"\((\d+) learners × (\d+) samples, (\d+) responses\)", refused.stderr)
    table = camilla.read(path, map=recipe)
    assert size is not None
    assert (table.n_learners, table.n_samples, table.n_responses) == tuple(map(int, size.groups()))
    loaded = command_line.camilla("load", path, "--map", recipe, "-o", "t.parquet", cwd=tmp_path)
    assert loaded.returncode == 0, loaded.stderr
    assert camilla.read(tmp_path / "t.parquet").digest() == table.digest()


def test_proposals_have_the_parts_that_the_values_ask_for(tmp_path: Path) -> None:
    wanted = {
        "MT-Bench": "learner=model,sample=question_id,response=score,trial=turn,scale=1:10",
        "trials": "learner={file},sample=case_id,response=reward,trial=trial",
        "by model and question": "learner={key},sample=*.{key},response=*.*.score",
        "conditions": "learner=model+harness,sample=task_id,response=passed,trial=seed",
    }
    for layout, recipe in wanted.items():
        name, value = PROPOSED[layout]
        assert f"--map {shlex.quote(recipe)} " in proposal([put(tmp_path / layout / name, value)])


def test_a_file_without_scores_is_told_what_is_missing(tmp_path: Path) -> None:
    path = put(tmp_path / "r.json", [{"question": "why?", "answer": "because", "latency": 12.5}] * 3)
    with pytest.raises(
        LayoutError, match=r"contains question, answer, latency\. No recipe was found: no field looks"
    ):
        camilla.read(path)


@pytest.mark.parametrize("value", [7, [1, 2, 3], [[1], [0]], {}, [{}], None, "x", [None, {"": {"": 1}}]])
def test_any_json_is_told_what_is_missing(value: Any, tmp_path: Path) -> None:
    assert "No recipe was found" in proposal([put(tmp_path / "r.json", value)])


def test_a_wide_table_is_not_said_to_lack_numbers_from_0_to_1(tmp_path: Path) -> None:
    """Columns A and B hold them; what is needed is what the rows are."""
    (tmp_path / "wide.csv").write_text("sample,A,B\nq1,1,0\nq2,0,1\n")
    said = proposal([tmp_path / "wide.csv"])
    assert "2 columns hold numbers from 0 to 1, as in a wide table" in said
    assert "--rows samples" in said
    assert "no field looks like a response" not in said


def test_what_a_refusal_shows_is_bounded(tmp_path: Path) -> None:
    """Hundreds of long keys: a few are shown, each shortened."""
    rows = [{f"{'k' * 300}{n}": n for n in range(400)} | {"\x1b]0;evil\x07": 1}]
    said = proposal([put(tmp_path / "r.jsonl", rows)])
    assert len(said) < 2_500
    assert said.isprintable()


FUZZED = {
    "r.jsonl": (ROWS, FLAT),
    "r.json": (nested(ROWS), LAYOUTS["nested"][2]),
    "k.json": (by_learner(ROWS), LAYOUTS["by key"][2]),
    "c.json": (columns(ROWS), LAYOUTS["columns"][2] + ",scale=0:1"),
    "r.csv": (ROWS, FLAT + ",right=pass,missing=nan"),
    "r.parquet": (ROWS, FLAT),
    "r.arrow": (ROWS, FLAT),
}


def fuzz(n_files: int, folder: Path) -> dict[str, int]:
    """Damaged files by a recipe, and every tenth of them to the proposer; how many ended how."""
    seeds = {name: put(folder / "seeds" / name, value).read_bytes() for name, (value, _) in FUZZED.items()}
    recipes = {name: recipe_of(recipe) for name, (_, recipe) in FUZZED.items()}
    ended = {"read": 0, "refused": 0}
    for number in range(n_files):
        rng = Random(f"recipe {number}")
        name = rng.choices(list(seeds), [0.02 if name == "r.arrow" else 1 for name in seeds])[0]
        path = folder / name
        path.write_bytes(mutated(rng, seeds[name]))
        start = time.process_time()
        try:
            read_mapped(path, recipes[name])
            ended["read"] += 1
        except CamillaError:
            ended["refused"] += 1
        if number % 10 == 0:
            proposal([path])
        assert time.process_time() - start < 5, number
    return ended


def test_damaged_files_are_read_by_a_recipe_or_end_in_our_own_error(tmp_path: Path) -> None:
    """Nothing else comes out, and nothing takes long; 5 CPU seconds are hundreds of times the usual."""
    assert min(fuzz(700, tmp_path).values()) > 50


@pytest.mark.slow
def test_a_hundred_thousand_damaged_files_end_well(tmp_path: Path) -> None:
    assert min(fuzz(100_000, tmp_path).values()) > 7_000
