"""compare, rank, power and check as a user meets them: real files, what is printed, exit codes."""

import json
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest

from camilla.cli.main import main


class Ran(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


Camilla = Callable[..., Ran]


@pytest.fixture
def camilla(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Camilla:
    """The command line in this process: a process each would spend most of the time on imports."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*arguments: str) -> Ran:
        monkeypatch.setattr(sys, "argv", ["camilla", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        return Ran(int(end.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """runs.csv: good is right on 80 of 100 samples, bad on 50, near on 79; old.csv and new.csv: one each."""
    right = {
        "good": np.arange(100) < 80,
        "bad": np.arange(100) < 50,
        "near": (np.arange(100) < 76) | (np.arange(100) >= 97),
    }
    rows = [
        (name, f"q{j:02d}", int(value[j]), f"task {j % 2}", f"page {j % 20}")
        for name, value in right.items()
        for j in range(100)
    ]
    frame = pl.DataFrame(rows, schema=["learner", "sample", "response", "topic", "page"], orient="row")
    frame.write_csv(tmp_path / "runs.csv")
    frame.filter(learner="good").write_csv(tmp_path / "old.csv")
    frame.filter(learner="bad").write_csv(tmp_path / "new.csv")
    return tmp_path


def test_compare_says_the_difference_and_ends_with_3_when_worse(camilla: Camilla) -> None:
    worse = camilla("compare", "runs.csv", "good", "bad", "--fail-if-worse")
    assert worse.returncode == 3
    assert "B is worse: −30.0 points (95 % CI " in worse.stdout
    assert camilla("compare", "runs.csv", "bad", "good", "--fail-if-worse").returncode == 0
    assert camilla("compare", "runs.csv", "good", "near", "--fail-if-worse").returncode == 0


def test_the_exit_code_reaches_the_shell(folder: Path) -> None:
    command = [sys.executable, "-c", "from camilla.cli.main import main; main()"]
    worse = ["compare", "old.csv", "new.csv", "--fail-if-worse"]
    assert subprocess.run([*command, *worse], cwd=folder, capture_output=True, check=False).returncode == 3


def test_a_margin_must_be_shown(camilla: Camilla) -> None:
    """near loses 4 of 100 and wins 3: the interval reaches below −.02 but not below −.2."""
    base = ("compare", "runs.csv", "good", "near", "--fail-if-worse", "--margin")
    assert camilla(*base, "0.02").returncode == 3
    assert camilla(*base, "0.2").returncode == 0
    assert camilla("compare", "runs.csv", "good", "near", "--margin", "0.2").returncode == 2


def test_two_tables_are_two_learners(camilla: Camilla) -> None:
    ran = camilla("compare", "old.csv", "new.csv", "--task", "topic", "--json")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert (told["a"], told["b"], told["overall"]["n"]) == ("good", "bad", 100)
    assert [task["task"] for task in told["tasks"]] == ["task 0", "task 1"]
    assert told["provenance"]["settings"] == {"a": "good", "b": "bad", "level": 0.95}


def test_one_learner_twice_is_called_by_its_files(camilla: Camilla, folder: Path) -> None:
    (folder / "again.csv").write_bytes((folder / "old.csv").read_bytes())
    told = json.loads(camilla("compare", "old.csv", "again.csv", "--json").stdout)
    assert (told["a"], told["b"], told["overall"]["p_value"]) == ("old.csv", "again.csv", 1)
    assert camilla("compare", "old.csv", "old.csv").returncode == 2


def test_clusters_are_said_and_flipped_whole(camilla: Camilla) -> None:
    told = json.loads(camilla("compare", "runs.csv", "good", "bad", "--cluster", "page", "--json").stdout)
    assert (told["overall"]["n_clusters"], told["overall"]["test"]) == (20, "Student's t over clusters")


def test_one_run_writes_the_comment_and_prints_the_document(camilla: Camilla, folder: Path) -> None:
    words = ("compare", "runs.csv", "good", "bad", "--fail-if-worse", "--flips", "2")
    ran = camilla(*words, "--json", "-o", "comment.md")
    assert ran.returncode == 3
    assert json.loads(ran.stdout)["gate"]["failed"]
    assert (folder / "comment.md").read_text() == camilla(*words, "--markdown").stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("-o", "comment.txt"), 2, "the comment is Markdown; give a name that ends in .md"),
        (("-o", "nowhere/comment.md"), 1, "there is no folder nowhere"),
        (("--markdown", "--show", "1"), 2, "write the comment to a file with -o FILE.md"),
    ],
)
def test_a_comment_that_cannot_be_written_is_refused(
    camilla: Camilla, folder: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    ran = camilla("compare", "runs.csv", "good", "bad", *words)
    assert (ran.returncode, message in ran.stderr, ran.stdout) == (code, True, "")
    assert not list(folder.glob("comment*"))


def test_a_task_may_lose_one_thing(camilla: Camilla) -> None:
    words = ("--fail-if-worse", "--by", "task", "--allow", "law=0.02", "--allow", "law=0.05")
    ran = camilla("compare", "runs.csv", "good", "bad", *words)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--allow 'law=0.05': 'law' may already lose 0.02. Keep one." in ran.stderr


def test_rank_prints_a_board_and_as_json_its_pairs(camilla: Camilla) -> None:
    shown = camilla("rank", "runs.csv")
    assert shown.returncode == 0, shown.stderr
    assert "good has the highest mean of 3 learners, but near may be first." in shown.stdout
    told = json.loads(camilla("rank", "runs.csv", "--json", "--pairs").stdout)
    assert [row["learner"] for row in told["learners"]] == ["good", "near", "bad"]
    assert [row["told_apart"] for row in told["pairs"]] == [False, True, True]


def test_power_plans_from_numbers_and_from_a_table(camilla: Camilla) -> None:
    told = json.loads(camilla("power", "--sd", "0.4", "--difference", "0.05", "--json").stdout)
    assert told["needed"] == [{"difference": 0.05, "samples": 505}]
    table = camilla("power", "runs.csv", "good", "bad", "--samples", "100", "--json")
    assert json.loads(table.stdout)["design"]["discordance"] == pytest.approx(0.3)
    assert camilla("power").returncode == 2
    assert camilla("power", "runs.csv", "--sd", "0.1").returncode == 2


@pytest.mark.parametrize(
    "command", [("compare", "w.csv", "a", "b"), ("rank", "w.csv"), ("power", "w.csv", "--difference", "0.1")]
)
def test_a_weight_acts_among_trials_or_is_refused(
    camilla: Camilla, folder: Path, command: tuple[str, ...]
) -> None:
    """One row a sample: whatever its weight, it counts once. Trials of weights 3 and 1 have another mean."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "learner": np.repeat(["a", "b"], 80),
            "sample": np.tile(np.repeat(np.arange(40), 2), 2),
            "response": rng.integers(0, 2, 160),
            "w": np.tile([3, 1], 80),
        }
    )
    frame.gather_every(2).write_csv(folder / "w.csv")
    ran = camilla(*command, "--weight", "w")
    assert ran.returncode == 2
    assert "every sample counts once" in ran.stderr
    frame.write_csv(folder / "w.csv")
    weighed, plain = camilla(*command, "--weight", "w", "--json"), camilla(*command, "--json")
    assert (weighed.returncode, plain.returncode) == (0, 0)
    shown = [json.loads(one.stdout) | {"provenance": None} for one in (weighed, plain)]
    assert shown[0] != shown[1]


def test_check_tells_all_it_found_where_nothing_can_be_fitted(camilla: Camilla, folder: Path) -> None:
    (folder / "right.csv").write_text("learner,sample,response\na,1,1\na,2,1\nb,1,1\nb,2,1\n")
    ran = camilla("check", "right.csv")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "2 of 2 samples have the same response from everybody (2 all right, 0 all wrong)" in ran.stdout
    assert "irt fit             left out: every one of the 4 responses is 1" in ran.stdout
    document = json.loads(camilla("check", "right.csv", "--json").stdout)
    assert document["control"] is None
    assert document["findings"][-1]["about"] == "irt fit"
    assert camilla("check", "right.csv", "--with", "nosuch").returncode == 2


def test_check_does_not_deny_differences_that_compare_finds(camilla: Camilla, folder: Path) -> None:
    """Two learners, 40 samples, one has 30 right and the other 4 of these: no dimension can be seen with two
    learners, and p is 2 · 2^−26."""
    responses = {"a": [1] * 30 + [0] * 10, "b": [1] * 4 + [0] * 36}
    pl.DataFrame({"sample": [f"q{j}" for j in range(40)], **responses}).write_csv(folder / "two.csv")
    said = json.loads(camilla("check", "two.csv", "--rows", "samples", "--no-fit", "--json").stdout)[
        "findings"
    ][-1]
    assert said["about"] == "dimensions"
    assert "cannot be told" not in said["says"]
    assert "compare and rank answer it" in said["says"]
    found = json.loads(camilla("compare", "two.csv", "a", "b", "--rows", "samples", "--json").stdout)
    assert found["overall"]["p_value"] == pytest.approx(2.0**-25)


def test_check_says_what_is_fine(camilla: Camilla) -> None:
    ran = camilla("check", "runs.csv", "--no-fit", "--json")
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert {finding["about"] for finding in told["findings"]} >= {"constant samples", "dimensions"}
    shown = camilla("check", "runs.csv")
    assert "irt fit" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("compare", "runs.csv"), 2, "TABLE A B"),
        (("compare", "runs.csv", "good", "bat"), 1, "Did you mean 'bad'?"),
        (("compare", "runs.csv", "old.csv"), 1, "3 learners"),
        (("compare", "runs.csv", "good", "bad", "--level", "2"), 2, "level"),
        (("rank", "nowhere.csv"), 1, "no such file"),
        (("rank", "runs.csv", "--pairs"), 2, "--json"),
        (("rank", "old.csv"), 1, "ranking needs at least two"),
    ],
)
def test_what_is_wrong_is_one_message(
    camilla: Camilla, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ran = camilla(*arguments)
    assert ran.returncode == code, ran.stderr
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert ran.stdout == ""


EXAMPLES = Path(__file__).parents[2] / "docs/examples"


def test_two_log_folders_are_compared_with_clusters_of_their_metadata(camilla: Camilla) -> None:
    """The example logs say of every sample which digit it is: ten clusters."""
    folders = (str(EXAMPLES / "logistic"), str(EXAMPLES / "ridge"))
    told = json.loads(camilla("compare", *folders, "--cluster", "category", "--json").stdout)
    assert (told["a"], told["b"]) == ("logistic", "ridge")
    assert (told["overall"]["n"], told["overall"]["n_clusters"]) == (500, 10)
    assert {task["task"] for task in told["tasks"]} == {"digits_0_to_4", "digits_5_to_9"}
    ran = camilla("compare", *folders, "--cluster", "page")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "'page'" in ran.stderr
    assert camilla("rank", str(EXAMPLES), "--cluster", "category").returncode == 0


def test_clusters_of_metadata_are_found_in_the_table_that_load_wrote(camilla: Camilla) -> None:
    assert camilla("load", str(EXAMPLES), "-o", "r.parquet").returncode == 0
    of_logs, of_table = (
        json.loads(camilla("rank", path, "--cluster", "category", "--json").stdout)
        for path in (str(EXAMPLES), "r.parquet")
    )
    assert of_table["provenance"]["n_clusters"] == 10
    assert of_table["learners"] == of_logs["learners"]


def test_one_model_in_two_log_folders_is_called_by_them(camilla: Camilla, folder: Path) -> None:
    shutil.copytree(EXAMPLES / "ridge", folder / "first")
    shutil.copytree(EXAMPLES / "ridge", folder / "second")
    told = json.loads(camilla("compare", "first", "second", "--json").stdout)
    assert (told["a"], told["b"], told["overall"]["p_value"]) == ("first", "second", 1)
    assert told["overall"]["n"] == 500


def test_one_model_in_two_log_folders_must_have_answered_the_same_samples(
    camilla: Camilla, folder: Path
) -> None:
    """All documents of a second run are others under the same ids: nothing can be compared."""
    shutil.copytree(EXAMPLES / "ridge", folder / "first")
    shutil.copytree(EXAMPLES / "ridge", folder / "second")
    for log in (folder / "second").rglob("samples_*.jsonl"):
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        changed = [row | {"doc_hash": f"another {row['doc_hash']}"} for row in rows]
        log.write_text("".join(json.dumps(row) + "\n" for row in changed))
    ran = camilla("compare", "first", "second")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "has different content in different runs" in ran.stderr


def test_a_log_folder_is_not_compared_with_itself_or_a_part_of_it(camilla: Camilla, folder: Path) -> None:
    shutil.copytree(EXAMPLES / "ridge", folder / "runs/new")
    for other, said in ((str(folder / "runs"), "with itself"), ("runs/new", "is inside the other")):
        ran = camilla("compare", "runs", other)
        assert ran.returncode == 2
        assert said in ran.stderr


@pytest.fixture
def scored_apart(folder: Path) -> Path:
    """Logs of a and b by exact match behind two filters, and c, which has acc alone, in a folder each."""
    for name, first, second in (("a", "strict", "loose"), ("b", "strict", "loose"), ("c", "none", "none")):
        log = folder / "logs" / name / "samples_quiz_2026-01-02T00-00-00.jsonl"
        log.parent.mkdir(parents=True)
        metric = "acc" if name == "c" else "exact_match"
        rows = [
            {"doc_id": j, "doc": {"question": f"Q{j}"}, "target": "1", "arguments": {}, "resps": [["1"]],
             "filtered_resps": ["1"], "filter": filter, "metrics": [metric], "doc_hash": f"h{j}",
             metric: float(filter == "loose" or j < {"a": 12, "b": 6, "c": 9}[name])}
            for filter in dict.fromkeys((first, second))
            for j in range(20)
        ]  # fmt: skip
        log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder / "logs"


def test_a_learner_without_the_metric_of_the_others_is_named(camilla: Camilla, scored_apart: Path) -> None:
    ran = camilla("rank", "logs", "--json")
    assert [row["mean"] for row in json.loads(ran.stdout)["learners"]] == [0.6, 0.3]
    assert "responses are exact_match behind strict\n" in ran.stderr
    assert "  c on quiz, which has acc: logs/c/" in ran.stderr
    ran = camilla("compare", "logs/a", "logs/c")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "error: 'c' has no response by the metric of the other log, only by 'acc'." in ran.stderr


def test_rank_and_compare_take_the_metric_and_filter_that_are_asked_for(
    camilla: Camilla, scored_apart: Path
) -> None:
    """Behind the loose filter every answer is right."""
    ran = camilla("rank", "logs", "--filter", "loose", "--json")
    assert [row["mean"] for row in json.loads(ran.stdout)["learners"]] == [1, 1]
    told = json.loads(camilla("compare", "logs/a", "logs/b", "--json").stdout)["overall"]
    assert told["difference"] == pytest.approx(-0.3)
    told = json.loads(camilla("compare", "logs/a", "logs/b", "--filter", "loose", "--json").stdout)["overall"]
    assert told["difference"] == 0
    ran = camilla("rank", "logs", "--metric", "f1")
    assert ran.returncode == 2
    assert "no task has metric 'f1'. There are 'acc', 'exact_match'." in ran.stderr


def test_logs_whose_ids_are_positions_are_compared_by_content(camilla: Camilla, scored_apart: Path) -> None:
    """b answered the samples of a in the opposite order: by id they mean different things."""
    log = next((scored_apart / "b").iterdir())
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    log.write_text("".join(json.dumps(row | {"doc_id": 19 - row["doc_id"]}) + "\n" for row in rows))
    ran = camilla("compare", "logs/a", "logs/b")
    assert ran.returncode == 1
    assert "--join content" in ran.stderr
    told = json.loads(camilla("compare", "logs/a", "logs/b", "--join", "content", "--json").stdout)
    assert told["overall"]["difference"] == pytest.approx(-0.3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "options", "most"),
    [
        ("swebench/swebench_verified_agents.parquet", ("--rows", "samples", "--task", "repo"), 1.0),
        ("metabench/metabench.parquet", (), 10.0),
    ],
)
def test_boards_are_quick(data_folder: Path, path: str, options: tuple[str, ...], most: float) -> None:
    """CPU seconds of the whole process, the best of three: other work on the machine only adds to them."""
    command = [
        sys.executable,
        "-c",
        "from camilla.cli.main import main; main()",
        "rank",
        str(data_folder / path),
    ]
    spent = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [*command, *options], env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) <= most


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (
            "power --sd .4 --icc .1",
            "a correlation within clusters (--icc) does nothing without clusters: "
            "give their size (--cluster-size)",
        ),
        (
            "power runs.csv --icc .1",
            "a correlation within clusters (--icc) does nothing without clusters: "
            "give their size (--cluster-size)",
        ),
        (
            "power --sd .4 --trials 3",
            "the number of trials (--trials) does nothing without chance within samples: give its share",
        ),
        (
            "power --sd .4 --trial-share .3",
            "the share of chance within samples (--trial-share) does nothing with one trial per sample: give",
        ),
        ("power --sd .4 --cluster page", "--cluster does nothing without a TABLE."),
        (
            "rank . --task topic",
            "--task does nothing on logs, and . is a folder of them; it is for table files.",
        ),
        ("rank . --missing NA", "--missing does nothing on logs"),
        (
            "rank runs.csv --metric acc",
            "--metric does nothing on a table file without a column of judges, and runs.csv has none",
        ),
        ("check runs.csv --join content", "--join does nothing on a table file"),
    ],
)
def test_an_option_that_cannot_act_names_what_it_needs(camilla: Camilla, arguments: str, wanted: str) -> None:
    ran = camilla(*arguments.split())
    assert ran.returncode == 2
    assert ran.stdout == ""
    assert ran.stderr.startswith(f"error: {wanted}")


@pytest.mark.parametrize("right", [[1.0] * 40, [0.5] * 20 + [0.25] * 20])
def test_power_of_learners_that_never_differ_is_a_matter_of_data(
    camilla: Camilla, folder: Path, right: list[float]
) -> None:
    rows = [(name, f"q{j}", value) for name in "ab" for j, value in enumerate(right)]
    frame = pl.DataFrame(rows, schema=["learner", "sample", "response"], orient="row")
    frame.write_csv(folder / "alike.csv")
    ran = camilla("power", "alike.csv")
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: the two learners differ by the same on every sample they share")


def test_trials_and_correlation_act_on_what_a_table_says(camilla: Camilla) -> None:
    """Clusters of 5 that correlate by .5 multiply the variance by 1 + 4 · .5."""
    told = camilla("power", "runs.csv", "good", "bad", "--cluster", "page", "--icc", ".5", "--json")
    assert json.loads(told.stdout)["design"]["effect"] == pytest.approx(3)
