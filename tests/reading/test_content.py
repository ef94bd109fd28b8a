"""Content travels with the table: every prompt and answer that comes back is the one in the log."""

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import camilla
from camilla.errors import CamillaError, DataError, FormatError, SettingError
from camilla.reading.content import Spill
from camilla.reading.entries import words
from camilla.reading.joining import Choices, merge
from camilla.reading.runs import Answered, Asked, Collection, Content, Row, Run
from camilla.table.content import LONGEST, cut
from camilla.table.responses import ResponseTable


def kept(runs: list[Run], choices: Choices, join: str = "id") -> ResponseTable | None:
    collection = Collection(join, spill=Spill())
    for run in runs:
        collection.add(run)
    try:
        return merge(collection, choices).table
    except CamillaError:
        return None


@st.composite
def a_run(draw: st.DrawFn) -> Run:
    """A run whose every score is unlike any other, and whose answers say which score they are of.

    Names are shared between tasks and sources, some hold the name of a task, trials repeat, metrics and
    filters have answers of their own, hashes are there or not, and rows may be unscored.
    """
    source = draw(st.sampled_from("pqrs")) + f"{draw(st.integers(0, 10**6)):06d}"
    task = draw(st.sampled_from(["t", "u"]))
    kinds = [[("acc", "")], [("acc", ""), ("f1", "")], [("acc", "strict"), ("acc", "loose")]]
    pairs = draw(st.sampled_from(kinds))
    rows, answers, asked = [], [], {}
    names = draw(
        st.lists(st.sampled_from(["1", "2", "3", "t/1", "u/2"]), min_size=1, max_size=4, unique=True)
    )
    for name in names:
        variant = draw(st.sampled_from(["same", "same", "same", source]))
        content = draw(st.sampled_from([None, f"{name} {variant}"]))
        asked[name] = Asked(f"prompt of {name} {variant if content else source}")
        for trial in range(draw(st.integers(1, 3))):
            for metric, filter in pairs:
                score = draw(st.one_of(st.none(), st.floats(0.01, 1)))
                why = None if score is not None else "unscored"
                rows.append(Row(name, score, metric, filter, trial, content, why))
                said = f"{source} {name} {trial} {metric} {filter}"
                answers.append(Answered(name, trial, said, f"{score!r}", "", metric, filter))
    loose = draw(st.booleans())
    return Run(
        draw(st.sampled_from("ab")), task, rows, source=source, format="drawn",
        date=draw(st.sampled_from(["2025", "2026"])), named_by_task=not loose,
        task_is_file=loose and draw(st.booleans()), unstable_ids=draw(st.sampled_from([False, False, True])),
        content=lambda: Content(asked, iter(answers)),
    )  # fmt: skip


RUNS = st.lists(a_run(), min_size=1, max_size=5, unique_by=lambda run: run.source)
CHOICES = st.builds(
    Choices,
    on_error=st.sampled_from(["null", "zero", "drop"]),
    runs=st.sampled_from(["newest", "trials"]),
    metric=st.sampled_from([None, None, "acc"]),
)


@given(RUNS, CHOICES, st.sampled_from(["id", "content"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_answer_of_every_trial_is_the_one_in_the_log(runs, choices, join) -> None:
    """An answer names its score as its judge's reason; the table must have that very score in that trial."""
    table = kept(runs, choices, join)
    if table is None:
        return
    long = table.to_long()
    trial = long["trial"].to_list() if "trial" in long.columns else [0] * long.height
    scores = {
        (learner, sample, number): response
        for learner, sample, number, response in zip(
            long["learner"], long["sample"], trial, long["response"], strict=True
        )
    }
    by_source = {run.source: run for run in runs}
    found = set()
    rows = table.content.rows(table.samples)
    for row in rows.filter(pl.col("learner").is_not_null()).to_dicts():
        source, *_ = row["answer"].split(" ")
        assert by_source[source].learner == row["learner"]
        if row["trial"] is None:
            assert row["reason"] == "None"
            continue
        cell = (row["learner"], row["sample"], row["trial"])
        assert scores[cell] == (0.0 if row["reason"] == "None" else float(row["reason"]))
        found.add(cell)
    assert found == set(scores)


@given(RUNS, CHOICES, st.sampled_from(["id", "content"]))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_prompt_of_a_sample_is_that_of_a_run_that_answered_it(runs, choices, join) -> None:
    table = kept(runs, choices, join)
    if table is None:
        return
    by_source = {run.source: run for run in runs}
    prompts: dict[str, set[str]] = {}
    for sample, learner, answer in (
        table.content.rows(table.samples).select("sample", "learner", "answer").rows()
    ):
        if learner is not None:
            source, name, *_ = answer.split(" ")
            prompts.setdefault(sample, set()).add(by_source[source].content().asked[name].prompt)
    for row in table.content.samples(table.samples).to_dicts():
        assert row["prompt"] in prompts[row["sample"]]


def test_content_written_beside_a_table_comes_back_and_goes_with_it(tmp_path) -> None:
    frame = pl.DataFrame({
        "learner": ["a", "b", "a", "b"], "sample": ["1", "1", "2", "2"], "response": [1.0, 0.0, 1.0, 1.0],
        "prompt": ["one?", "one?", "two?", "two?"], "answer": ["1", "7", "2", "zwei"],
        "choices": [["1", "7"], ["1", "7"], None, None], "reason": ["equal", None, None, "in German"],
    })  # fmt: skip
    table = camilla.read(frame)
    for ending in ("csv", "parquet"):
        path = table.write(tmp_path / f"responses.{ending}")
        assert (tmp_path / "responses.content.parquet").is_file()
        back = camilla.read(path).content
        assert back.sample("1").choices == ("1", "7")
        assert back.sample("2") == ("2", "two?", "", (), "")
        assert back.answers("2").rows() == [("a", 0, "2", None, None), ("b", 0, "zwei", None, "in German")]
        assert camilla.read(path, content=False).content is None
    only_b = table.take_learners([1]).take_samples([1])
    path = only_b.write(tmp_path / "part.csv")
    stored = pl.read_parquet(tmp_path / "part.content.parquet")
    assert set(stored["sample"]) == {"2"}
    assert set(stored["learner"].drop_nulls()) == {"b"}
    camilla.read(path, content=False).write(path)
    assert not (tmp_path / "part.content.parquet").exists()


def test_content_of_a_table_that_changed_is_left_out_with_a_note(tmp_path) -> None:
    frame = pl.DataFrame(
        {"learner": ["a", "b"], "sample": ["1", "1"], "response": [1, 0], "reason": ["x", "y"]}
    )
    path = camilla.read(frame).write(tmp_path / "t.csv")
    path.write_text(path.read_text().replace("b,", "c,"))
    from camilla.reading.inputs import read_with_account

    reading = read_with_account(path)
    assert reading.table.content is None
    assert any("t.content.parquet" in note for note in reading.notes())


def test_tables_with_content_among_logs_keep_it(tmp_path) -> None:
    """Two files that number their samples alike are told apart by task, and their content with them."""
    for task in ("x", "y"):
        rows = [
            {"learner": learner, "sample": sample, "response": 1, "task": task, "prompt": f"{task} {sample}?",
             "answer": f"{task} {learner} {sample}"}
            for learner in ("a", "b") for sample in ("1", "2")
        ]  # fmt: skip
        pl.DataFrame(rows).write_csv(tmp_path / f"{task}.csv")
    table = camilla.read(tmp_path)
    (tmp_path / "written").mkdir()
    table.write(tmp_path / "written" / "all.parquet")
    for found in (table, camilla.read(tmp_path / "written")):
        assert set(found.samples) == {"x/1", "x/2", "y/1", "y/2"}
        for name in found.samples:
            task, sample = name.split("/")
            assert found.content.sample(name).prompt == f"{task} {sample}?"
            answers = found.content.answers(name)
            assert dict(answers.select("learner", "answer").rows()) == {
                learner: f"{task} {learner} {sample}" for learner in ("a", "b")
            }


def test_columns_of_a_wide_table_that_hold_words_are_content(tmp_path) -> None:
    frame = pl.DataFrame({"sample": ["1", "2"], "prompt": ["one?", "two?"], "reference": [1, 0], "A": [0, 1]})
    table = camilla.read(frame, rows="samples")
    assert table.learners == ("reference", "A"), "a column of numbers is a learner, whatever it is called"
    assert table.content.sample("2").prompt == "two?"
    table = camilla.read(frame, rows="samples", reference="reference")
    assert table.learners == ("A",)
    assert table.content.sample("2").reference == "0"
    with pytest.raises(SettingError, match="reason"):
        camilla.read(frame, rows="samples", reason="A")


def test_a_column_that_is_not_there_is_named(tmp_path) -> None:
    frame = pl.DataFrame({"learner": ["a"], "sample": ["1"], "response": [1], "promt": ["?"]})
    with pytest.raises(DataError, match=r"no column 'prompt'.*promt"):
        camilla.read(frame, prompt="prompt")


def test_a_long_text_keeps_its_start_and_its_end() -> None:
    text = "a" * LONGEST + "b" * LONGEST
    short = cut(text)
    assert len(short) <= LONGEST
    assert short.startswith("aaa")
    assert short.endswith("bbb")
    assert "characters cut" in short
    gone = int(short.split("[")[1].split(" ")[0].replace(",", ""))
    assert gone == len(text) - short.count("a", 0, LONGEST // 2 - 20) - (LONGEST // 2 - 20)
    assert cut("a" * LONGEST) == "a" * LONGEST


def test_half_a_surrogate_pair_and_control_characters_are_kept_as_text() -> None:
    hostile = "\ud800 \x1b[31m \u202e\x00 </script>"
    run = Run(
        "a", "t", [Row("1", 1.0)], source="s", format="f",
        content=lambda: Content({"1": Asked(hostile, choices=(hostile,))}, [Answered("1", 0, hostile)]),
    )  # fmt: skip
    content = kept([run], Choices()).content
    spelled = hostile.replace("\ud800", "\\ud800")
    assert content.sample("t/1").prompt == spelled
    assert content.sample("t/1").choices == (spelled,)
    assert content.answers("t/1")["answer"].to_list() == [spelled]


SCRIPT = """
import sys, os, signal, camilla
table = camilla.read(sys.argv[1])
print(table.content.answers(table.samples[0]).height, flush=True)
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("how", ["end", "kill"])
def test_the_temporary_folder_goes_at_the_end_and_is_all_that_a_killed_process_leaves(tmp_path, how) -> None:
    logs, scratch = tmp_path / "logs", tmp_path / "scratch"
    logs.mkdir(), scratch.mkdir()
    _lm_eval(logs / "samples_t_2026-01-01T00-00-00.jsonl", [("5", ["A"])])
    before = sorted(logs.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(logs), how], env=os.environ | {"TMPDIR": str(scratch)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout == "1\n", done.stderr
    assert sorted(logs.iterdir()) == before
    left = [one.name for one in scratch.iterdir()]
    assert (
        left == []
        if how == "end"
        else [name for name in left if not name.startswith("camilla-content-")] == []
    )


def test_without_content_nothing_is_spilled(tmp_path, monkeypatch) -> None:
    _lm_eval(tmp_path / "samples_t_2026-01-01T00-00-00.jsonl", [("5", ["A"])])
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "there is no such folder"))
    assert camilla.read(tmp_path, content=False).content is None
    with pytest.raises(DataError, match="--no-content"):
        camilla.read(tmp_path)


def _lm_eval(path: Path, said: list[tuple[str, list[str]]], **more: object) -> None:
    lines = [
        {"doc_id": at, "doc": {"question": f"Q{at}"}, "target": target,
         "arguments": {"gen_args_0": {"arg_0": f"Shots. Q{at}", "arg_1": {"until": []}}},
         "resps": [resps], "filtered_resps": [resps[0][-1:]], "filter": "none", "metrics": ["exact_match"],
         "doc_hash": f"hash {at}", "exact_match": 1.0} | more
        for at, (target, resps) in enumerate(said)
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, lines)))


def test_lm_eval_generations(tmp_path) -> None:
    _lm_eval(tmp_path / "samples_gsm_2026-01-01T00-00-00.jsonl", [("5", ["It is 5"]), ("7", ["It is 8"])])
    content = camilla.read(tmp_path).content
    assert content.sample("gsm/1") == ("gsm/1", "Shots. Q1", "7", (), "")
    assert content.answers("gsm/1").select("answer", "extracted").rows() == [("It is 8", "8")]


def test_lm_eval_repeats_are_trials(tmp_path) -> None:
    _lm_eval(
        tmp_path / "samples_gsm_2026-01-01T00-00-00.jsonl", [("5", ["one 5", "two 6"])],
        scores_per_repeat={"exact_match": [1.0, 0.0]}, filtered_resps=[["5", "6"]],
    )  # fmt: skip
    table = camilla.read(tmp_path)
    assert table.response.tolist() == [1.0, 0.0]
    assert table.content.answers("gsm/0").select("trial", "answer", "extracted").rows() == [
        (0, "one 5", "5"), (1, "two 6", "6")
    ]  # fmt: skip


@pytest.mark.parametrize(("metric", "answer"), [("acc", "a very long choice"), ("acc_norm", "no")])
def test_lm_eval_choices_go_by_the_likelihood_that_the_metric_goes_by(tmp_path, metric, answer) -> None:
    """−9 is above −10, but per character −10/18 is above −9/2: acc and acc_norm take different choices."""
    choices = ["a very long choice", "no"]
    values = {"acc": [-8.0, -9.0], "acc_norm": [-9.0, -0.9]}[metric]
    line = {
        "doc_id": 0, "doc": {"question": "Q"}, "target": 1, "filter": "none", "metrics": ["acc", "acc_norm"],
        "arguments": {f"gen_args_{at}": {"arg_0": "Q", "arg_1": f" {one}"} for at, one in enumerate(choices)},
        "resps": [[[str(value), "False"]] for value in values], "doc_hash": "h", "acc": 1.0, "acc_norm": 0.0,
        "filtered_resps": [[str(value), "False"] for value in values],
    }  # fmt: skip
    (tmp_path / "samples_mc_2026-01-01T00-00-00.jsonl").write_text(json.dumps(line))
    content = camilla.read(tmp_path, metric=metric).content
    assert content.sample("mc/0") == ("mc/0", "Q", "no", tuple(choices), "")
    assert content.answers("mc/0")["answer"].to_list() == [answer]


def test_the_newest_run_answers_and_asks(tmp_path) -> None:
    """An older run that asks something else under the same name is left out, and its prompt with it."""
    for year, text in (("2024", "old"), ("2026", "new")):
        folder = tmp_path / year
        folder.mkdir()
        _lm_eval(folder / f"samples_t_{year}-01-01T00-00-00.jsonl", [("5", [text])], doc_hash=text,
                 arguments={"gen_args_0": {"arg_0": f"{text}?", "arg_1": {}}})  # fmt: skip
        (folder / f"results_{year}-01-01T00-00-00.json").write_text('{"results": {}, "model_name": "m"}')
    content = camilla.read(tmp_path).content
    assert content.sample("t/0").prompt == "new?"
    assert content.answers("t/0")["answer"].to_list() == ["new"]


def test_a_saved_diagnosis_carries_content(tmp_path) -> None:
    rows = [
        {"learner": learner, "sample": f"{k}", "response": (k + n) % 2, "prompt": f"{k}?",
         "answer": f"{learner}{k}"}
        for n, learner in enumerate("abcd") for k in range(6)
    ]  # fmt: skip
    found = camilla.diagnose(camilla.read(pl.DataFrame(rows)), "vanilla")
    folder = found.save(tmp_path / "saved")
    back = camilla.Diagnosis.load(folder)
    assert back.content.sample("3").prompt == "3?"
    assert back.content.answers("3")["answer"].to_list() == ["a3", "b3", "c3", "d3"]
    again = camilla.Diagnosis.load(back.save(folder))
    assert again.content.sample("3").prompt == "3?"
    (folder / "content.parquet").write_bytes(b"short")
    with pytest.raises(FormatError, match=r"content\.parquet"):
        camilla.Diagnosis.load(folder)
    without = camilla.diagnose(camilla.read(pl.DataFrame(rows), content=False), "vanilla").save(
        tmp_path / "none"
    )
    assert not (without / "content.parquet").exists()
    assert camilla.Diagnosis.load(without).content is None


def test_many_samples_are_written_in_blocks_in_order(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("camilla.table.content.BLOCK", 4000)
    monkeypatch.setattr("camilla.reading.content.FULL", 500)
    runs = [
        Run(learner, "t", [Row(f"{k}", 1.0, content=f"{k}") for k in range(40)], source=learner, format="f",
            content=lambda learner=learner: Content(
                {f"{k}": Asked(f"prompt {k} " * 20) for k in range(40)},
                [Answered(f"{k}", 0, f"{learner} says {k} " * 20) for k in range(40)]))
        for learner in ("a", "b", "c")
    ]  # fmt: skip
    table = kept(runs, Choices())
    assert len(table.content.sources[0].source.answer_parts) == 3
    path = table.write(tmp_path / "t.parquet")
    stored = pl.read_parquet(tmp_path / "t.content.parquet")
    assert stored["sample"].is_sorted()
    assert stored.height == 40 * 4
    back = camilla.read(path).content
    for k in range(40):
        assert back.sample(f"t/{k}").prompt == f"prompt {k} " * 20
        assert back.answers(f"t/{k}")["answer"].to_list() == [f"{name} says {k} " * 20 for name in "abc"]


def test_a_file_read_by_a_recipe_keeps_prompts_and_answers(tmp_path) -> None:
    lines = [
        {"m": learner, "q": {"id": sample, "text": f"{sample}?"}, "ok": 1, "said": f"{learner} {sample}"}
        for learner in "ab" for sample in "12"
    ]  # fmt: skip
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    recipe = "learner=m, sample=q.id, response=ok, prompt=q.text, answer=said"
    content = camilla.read(path, map=recipe).content
    assert content.sample("2").prompt == "2?"
    assert content.answers("2")["answer"].to_list() == ["a 2", "b 2"]
    assert camilla.read(path, map=recipe, content=False).content is None


def test_a_text_wrapped_deeper_than_python_recurses_is_that_text() -> None:
    """Python stops at about a thousand nested calls; a damaged log nested texts 968 deep."""
    value: object = "asked"
    for _ in range(5000):
        value = {"a": value}
    assert words(value) == "asked"
