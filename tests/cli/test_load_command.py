"""camilla load, and logs where other commands take tables: real processes, real files."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from test_commands import camilla
from typer.main import get_command

from camilla.cli.main import app

EXAMPLES = Path(__file__).parents[2] / "docs/examples"


def instance(model: str, sample: str, score: float | None, **more: object) -> str:
    row = {"evaluation_id": "1", "model_id": model, "evaluation_name": "quiz", "sample_id": sample}
    return json.dumps(row | {"evaluation": {"score": score}} | more) + "\n"


def test_two_folders_become_a_table_that_other_commands_read(tmp_path: Path) -> None:
    made = camilla("load", EXAMPLES / "logistic", EXAMPLES / "ridge", "-o", "r.parquet", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "2 learners × 500 samples, 1000 responses from 4 runs" in made.stdout
    assert "skills could be taken from: task (2), category (10)" in made.stdout
    how = ("--skills", ":category", "--with", "skill-vanilla", "-o", "d", "--json")
    found = camilla("diagnose", "r.parquet", *how, cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    accuracy = {row["learner"]: row["accuracy"] for row in json.loads(found.stdout)["learners"]}
    rows = [
        json.loads(line)
        for path in (EXAMPLES / "ridge").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert accuracy["ridge"] == pytest.approx(sum(row["acc"] for row in rows) / len(rows))


def test_commands_take_folders_of_logs_and_say_what_they_took_them_for(tmp_path: Path) -> None:
    found = camilla("diagnose", EXAMPLES, "--with", "vanilla", "-o", "d", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert found.stderr.startswith("note: 4 logs (lm-eval); responses are acc")


def test_json_says_everything(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(instance("a", "x", 1) + instance("a", "y", None, error="boom"))
    made = camilla("load", "a.jsonl", "--json", cwd=tmp_path)
    told = json.loads(made.stdout)
    assert (told["learners"], told["samples"], told["responses"]) == (1, 2, 1)
    assert told["missing"]["errored"] == 1
    assert told["tasks"][0]["metric"] == "score"
    assert told["formats"]["every-eval-ever"]["files"] == 1


@pytest.mark.parametrize(
    ("on_error", "responses"), [("null", [1.0]), ("zero", [1.0, 0.0]), ("drop", [1.0]), ("score", [1.0])]
)
def test_what_becomes_of_errors(on_error: str, responses: list[float], tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(instance("a", "x", 1) + instance("a", "y", None, error="boom"))
    made = camilla("load", "a.jsonl", "-o", "r.csv", "--on-error", on_error, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert pl.read_csv(tmp_path / "r.csv")["response"].to_list() == responses


def test_every_eval_ever_is_written_and_read_back(tmp_path: Path) -> None:
    camilla("load", EXAMPLES, "-o", "r.jsonl", "--as", "every-eval-ever", cwd=tmp_path)
    again = json.loads(camilla("load", "r.jsonl", "--json", cwd=tmp_path).stdout)
    assert (again["learners"], again["samples"], again["responses"]) == (2, 500, 1000)
    first = json.loads((tmp_path / "r.jsonl").read_text().splitlines()[0])
    required = "schema_version evaluation_id model_id evaluation_name sample_id interaction_type input output"
    assert set(required.split()) | {"evaluation", "answer_attribution"} <= set(first)


def test_battles_are_written_for_epp(tmp_path: Path) -> None:
    battles = [
        {"model_a": "m", "model_b": "n", "winner": winner}
        for winner in ("model_a", "tie", "model_b", "model_a")
    ]
    (tmp_path / "battles.json").write_text(json.dumps(battles))
    made = camilla("load", "battles.json", "-o", "matches.parquet", cwd=tmp_path)
    assert "matches: 4 between two players" in made.stdout
    ranked = camilla("epp", "matches.parquet", "--json", cwd=tmp_path)
    assert ranked.returncode == 0, ranked.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nothing.jsonl"], 1, "no such file or folder"),
        (["a.jsonl", "--on-error", "one"], 2, "--on-error is one of null, zero, drop, score"),
        (["a.jsonl", "--join", "name"], 2, "--join is one of id, content"),
        (["a.jsonl", "--runs", "all"], 2, "--runs is one of newest, trials"),
        (["a.jsonl", "--metric", "acc"], 2, "no task has metric 'acc'"),
        (["a.jsonl", "--format", "helm"], 1, "does not look like helm"),
        (["a.jsonl", "-o", "r.csv", "--as", "eee"], 2, "--as is one of every-eval-ever, not 'eee'"),
        (["a.jsonl", "--as", "eee"], 2, "--as is one of every-eval-ever, not 'eee'"),
        (["a.jsonl", "--as", "every-eval-ever"], 2, "--as does nothing without -o FILE"),
        (["a.jsonl", "-o", "r.csv", "--as", "every-eval-ever"], 2, "r.csv: every-eval-ever is JSONL"),
        (["a.jsonl", "--learner-by", "nosuch"], 2, "no log has the setting 'nosuch' (--learner-by)"),
        (["nothing.jsonl", "-o", "r.xlsx"], 2, "the ending '.xlsx' is not known"),
    ],
)
def test_mistakes_end_in_one_message_and_the_right_code(
    arguments: list[str], code: int, message: str, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_text(instance("a", "x", 1))
    ended = camilla("load", *arguments, cwd=tmp_path)
    assert ended.returncode == code
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr


def test_text_from_logs_cannot_reach_the_terminal_raw(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(
        instance("a\x1b[31m", "x\x1b]0;title\x07", 1, evaluation_name="t\x1b[2J")
    )
    made = camilla("load", "a.jsonl", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "\x1b" not in made.stdout + made.stderr


LOGS_READ = ("adapt", "check", "compare", "diagnose", "dif", "ensemble", "experiment", "items", "load",
             "place", "power", "rank", "select", "skills", "submit")  # fmt: skip


@pytest.mark.parametrize("option", ["--on-error", "--skip-damaged", "--one-benchmark"])
def test_every_command_that_reads_logs_says_what_becomes_of_errors(option: str) -> None:
    """A command that takes --metric reads logs, and so takes what else can be said of them."""

    def options(command: Any) -> set[str]:
        return {name for parameter in command.params for name in parameter.opts}

    commands = get_command(app).commands  # type: ignore[attr-defined]
    reading = {name for name, command in commands.items() if "--metric" in options(command)}
    assert reading >= set(LOGS_READ)
    assert {name for name in reading if option not in options(commands[name])} == set()


def test_rank_takes_several_paths_and_what_becomes_of_errors(tmp_path: Path) -> None:
    """Learner b has one sample right and one that errored: 1 of 1, or 1 of 2 where errors count as 0."""
    for name, error in (("a", None), ("b", "boom")):
        lines = [instance(name, str(at), at, error=error if at == 0 else None) for at in range(2)]
        (tmp_path / f"{name}.jsonl").write_text("".join(lines))

    def means(*more: str) -> dict[str, float]:
        ran = camilla("rank", "a.jsonl", "b.jsonl", "--json", *more, cwd=tmp_path)
        return {row["learner"]: row["mean"] for row in json.loads(ran.stdout)["learners"]}

    assert means() == {"a": 0.5, "b": 1.0}
    assert means("--on-error", "zero") == {"a": 0.5, "b": 0.5}
    wrong = camilla("rank", "a.jsonl", "b.jsonl", "--on-error", "one", cwd=tmp_path)
    assert "--on-error is one of null, zero, drop, score" in wrong.stderr
