"""What commands print: whole numbers at any width, names as text whatever they hold, and quiet ends."""

import fcntl
import io
import json
import os
import pty
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.cli.main import main
from camilla.display import Grid, as_text, grid_text, intervals, print_frame, progress
from camilla.names import distinctly_shortened, in_quotes
from command_line import CAMILLA, ENVIRONMENT
from command_line import camilla as camilla_here

DOCS = Path(__file__).parents[2] / "docs"
NAMES = ("run[red].jsonl", "[/b]", ":warning: sure", "back\\[bold]", "[link=http://x]y[/link]")
BELL = "evil\x1b]0;owned\x07\x1b[31m"


@pytest.mark.parametrize("name", NAMES)
def test_names_are_no_markup_in_cells_headers_and_titles(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_frame(pl.DataFrame({name: [name]}), title=f"\nof {name}")
    printed = capsys.readouterr().out
    assert printed.startswith(f"\nof {name}\n")
    assert printed.count(name) == 3


def test_control_characters_are_spelled_out_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    print_frame(pl.DataFrame({BELL: [BELL]}), title=BELL)
    printed = capsys.readouterr().out
    assert printed.count("evil\\x1b]0;owned\\x07\\x1b[31m") == 3
    assert not set(printed) & {"\x1b", "\x07"}


LONG = [f"mmlu:subject=abstract_algebra,method=multiple_choice_joint,model=x#{name}" for name in "ab"]


def test_long_names_keep_the_end_that_tells_them_apart(capsys: pytest.CaptureFixture[str]) -> None:
    print_frame(pl.DataFrame({"sample": LONG}), title="t")
    rows = [line.strip() for line in capsys.readouterr().out.splitlines() if "#" in line]
    assert [len(row) for row in rows] == [48, 48]
    assert all(row.startswith("mmlu:subject=") for row in rows)
    assert [row[-9:] for row in rows] == ["model=x#a", "model=x#b"]
    assert in_quotes("x" * 500 + "#7").endswith("x#7'")


ALIKE = {
    "they differ in the middle": [f"{'a' * 40}-{k}-{'b' * 40}" for k in range(12)],
    "they differ in two places": [
        f"{'a' * 30}{j}{'b' * 30}{k}{'c' * 30}" for j in range(3) for k in range(3)
    ],
    "one is what another is shortened to": ["x" * 80, "x" * 24 + "…" + "x" * 23, "x" * 79],
    "control characters are spelled out": ["a\x1b", "a\\x1b"],
    "they are numbered already": ["y" * 90, "y" * 91, "y" * 46 + "~1"],
}


@pytest.mark.parametrize("case", ALIKE)
@pytest.mark.parametrize("longest", [12, 20, 48])
def test_different_names_never_look_the_same(case: str, longest: int) -> None:
    brief = distinctly_shortened(ALIKE[case], longest)
    assert len(set(brief.values())) == len(ALIKE[case])
    assert max(map(len, brief.values())) <= longest


def test_shortened_names_show_where_they_differ() -> None:
    brief = distinctly_shortened(ALIKE["they differ in the middle"], 20)
    assert [text for k, text in enumerate(brief.values()) if f"{k}" not in text] == []


WIDE = pl.DataFrame(
    {"rank": [1, 2], "learner": LONG, "mean": [0.98765, -0.5], "low": [-0.1, -0.2], "n": [123456, 2]}
)


@pytest.mark.parametrize("width", [24, 30, 40, 50, 60, 80, 120])
def test_numbers_and_heads_are_whole_at_any_width_and_what_is_left_out_is_named(width: int) -> None:
    """24 columns hold rank (4), a name of 12 and the spaces between."""
    text = grid_text(Grid("t", WIDE, spare=("low",)), width)
    head, rule, *rows = text.split("\n\n")[1].split("\n")
    heads = head.split()
    left_out = [name for name in WIDE.columns if name not in heads]
    assert max(map(len, [head, rule, *rows])) <= width
    whole = {"rank": "1", "mean": "0.988", "low": "-0.100", "n": "123456"}
    assert rows[0].split()[0] == "1"
    assert [name for name in heads if name != "learner" and whole[name] not in rows[0].split()] == []
    assert (f"Not shown for lack of width: {', '.join(left_out)}." in " ".join(text.split())) == bool(
        left_out
    )
    assert width < 60 or left_out == []
    assert not left_out or "low" in left_out
    assert rows[0].split()[1] != rows[1].split()[1]


def test_a_column_has_the_decimals_it_needs() -> None:
    frame = pl.DataFrame({"a": [1.0, 0.5], "b": [1.0, 2.0], "c": [None, -1e-9]})
    rows = grid_text(Grid("t", frame), 80).split("\n")[4:6]
    assert [row.split() for row in rows] == [["1.000", "1"], ["0.500", "2", "0"]]


@pytest.mark.parametrize(
    ("values", "cells"),
    [
        ([1.0003], ["1.000"]),  # an end of an interval, not 1
        ([0.9998, 0.0], ["1.000", "0.000"]),
        ([2.0, None, 3.0], ["2", "", "3"]),
        ([4.999999999999998, float("nan"), float("inf")], ["5", "", "inf"]),
    ],
)
def test_only_a_whole_number_is_shown_as_one(values: list[float | None], cells: list[str]) -> None:
    lines = as_text([Grid("", pl.DataFrame({"x": values}))]).splitlines()
    assert [line.strip() for line in lines[-len(cells) :]] == cells


def test_intervals_stand_below_each_other_and_none_is_empty() -> None:
    frame = pl.DataFrame({"low": [-0.5, 0.25, None], "high": [0.5, 10.0, 1.0]})
    assert intervals(frame, "low", "high", 2) == ["-0.50 to  0.50", " 0.25 to 10.00", None]


@pytest.mark.parametrize(
    ("column", "value", "printed"),
    [
        ("q", 4.2e-07, "4.2e-07"), ("holm_p", 1e-300, "1e-300"), ("p_value", 0.00049, "0.00049"),
        ("p (Holm)", 4.2e-24, "4.2e-24"),
        ("p", 0.0, "0"), ("p", 0.0005, "0.001"), ("p", 1.0, "1"), ("difference", 5.6e-17, "0"),
    ],
)  # fmt: skip
def test_a_small_probability_is_not_zero(
    column: str, value: float, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half a thousandth is the least that three decimals show; of differences that is nothing."""
    print_frame(pl.DataFrame({column: [value]}), title="t")
    assert capsys.readouterr().out.split()[-1] == printed


def in_terminal(command: list[str], width: int, cwd: Path) -> tuple[str, str]:
    """What a process writes to real pseudo-terminals of this width: standard output, standard error."""
    streams = [pty.openpty(), pty.openpty()]
    for _, inside in streams:
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "COLUMNS"}
    running = subprocess.Popen(
        command, cwd=cwd, env=environment | {"TERM": "xterm"},
        stdin=subprocess.DEVNULL, stdout=streams[0][1], stderr=streams[1][1],
    )  # fmt: skip
    os.close(streams[0][1])
    os.close(streams[1][1])
    texts = [_read_all(outside) for outside, _ in streams]
    assert running.wait(timeout=300) == 0, texts
    return texts[0].replace("\r\n", "\n"), texts[1]


def _read_all(terminal: int) -> str:
    data = b""
    try:
        while part := os.read(terminal, 65536):
            data += part
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(terminal)
    return data.decode()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The digits, a diagnosis of them, and scores of players with long names."""
    folder = tmp_path_factory.mktemp("output")
    table = camilla.digits()
    table.write(folder / "digits.parquet")
    table.take_samples(range(0, 1797, 12)).write(folder / "some.parquet")
    camilla.diagnose(table, "irt", form="1pl", precision=1.0).save(folder / "diagnosis")
    players = [f"classifier/{'very-' * 9}long-{k}/name-of-a-player-with-an-end" for k in range(6)]
    scores = [
        (player, f"r{r}", (7 * k + 3 * r) % 11 + k) for k, player in enumerate(players) for r in range(8)
    ]
    pl.DataFrame(scores, schema=["player", "round", "score"], orient="row").write_csv(folder / "scores.csv")
    return folder


PRINTED = {
    "compare": ("compare", str(DOCS / "examples/logistic"), str(DOCS / "examples/ridge")),
    "rank": ("rank", "digits.parquet"),
    "show": ("show", "diagnosis"),
    "items": ("items", "some.parquet"),
    "epp": ("epp", "scores.csv"),
}


# A command again and again in one process, whose terminal is resized before each.
RESIZED = """
import fcntl, json, struct, sys, termios
from camilla.cli.main import main
for width in json.loads(sys.argv.pop(1)):
    for stream in (1, 2):
        fcntl.ioctl(stream, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
    print(end="\\f", flush=True)
"""


@pytest.mark.parametrize("command", PRINTED)
def test_a_terminal_of_any_width_has_whole_numbers_and_no_line_too_long(folder: Path, command: str) -> None:
    """Every cell of a narrow table is a cell of the wide one, or a shortened name of its own."""
    wide = camilla_here(*PRINTED[command], cwd=folder).stdout
    cells = {cell for line in wide.split("\n") for cell in cells_of(line)}
    widths = (60, 80, 120)
    in_turn = [sys.executable, "-c", RESIZED, json.dumps(widths), *PRINTED[command]]
    texts = in_terminal(in_turn, 80, folder)[0].removesuffix("\f").split("\f")
    for width, text in zip(widths, texts, strict=True):
        assert max(map(len, text.split("\n"))) <= width
        blocks = [block.split("Not shown for lack of width: ")[0] for block in text.split("\n\n")]
        tables = [block.rstrip("\n").split("\n") for block in blocks if "────" in block]
        assert tables
        for head, _, *rows in tables:
            for line in (head, *rows):
                strange = [
                    c.strip() for c in line.strip().split("   ") if c.strip() and c.strip() not in cells
                ]
                assert all("…" in cell and not cell.endswith("…") for cell in strange), (width, line)
            names = {cells_of(row)[cells_of(row)[0].isdigit()] for row in rows}
            assert len(names) == len(rows)
        assert (
            width == 120 or "Not shown for lack of width: " in text or command in ("rank", "epp", "compare")
        )


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("   ") if cell.strip()]


VERDICTS = {
    ("compare", "digits.parquet", "svm rbf", "forest 100", "--fail-if-worse"): 3,
    ("compare", "digits.parquet", "svm rbf", "forest 100", "--fail-if-worse", "--json"): 3,
    ("compare", "digits.parquet", "svm rbf", "svm poly", "--fail-if-worse"): 0,
    ("rank", "digits.parquet", "--json", "--pairs"): 0,
    ("show", "diagnosis", "--json"): 0,
    ("--help",): 0,
}
READERS = ("head -1", "true")
# Each command in a process of its own, forked where its imports are already made, before a reader of its own.
PIPED = """
import json, os, subprocess, sys
import camilla.cli.compare, camilla.cli.rank, camilla.cli.show, camilla.diagnosis
import camilla.learners.compare, camilla.learners.rank, camilla.reading.inputs, scipy.stats
from camilla.cli.main import main
ended = []
for words, reader in json.loads(sys.argv[1]):
    out, into = os.pipe()
    heard, said = os.pipe()
    reading = subprocess.Popen(reader.split(), stdin=out, stdout=subprocess.DEVNULL)
    os.close(out)
    if (child := os.fork()) == 0:
        os.close(heard)
        os.dup2(into, 1)
        os.dup2(said, 2)
        os.close(into)
        os.close(said)
        sys.argv = ["camilla", *words]
        main()
        sys.exit()
    os.close(into)
    os.close(said)
    with open(heard) as stream:
        stderr = stream.read()
    ended.append((os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), stderr))
    reading.wait()
print(json.dumps(ended))
"""


@pytest.fixture(scope="module")
def piped(folder: Path) -> dict[tuple[tuple[str, ...], str], tuple[int, str]]:
    """Exit code and standard error of each command before each reader."""
    cases = [(words, reader) for words in VERDICTS for reader in READERS]
    done = subprocess.run(
        [sys.executable, "-c", PIPED, json.dumps(cases)],
        cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    return {case: (code, said) for case, (code, said) in zip(cases, json.loads(done.stdout), strict=True)}


@pytest.mark.parametrize("arguments", VERDICTS, ids=" ".join)
@pytest.mark.parametrize("reader", READERS)
def test_a_reader_that_goes_away_changes_no_verdict(
    piped: dict[tuple[tuple[str, ...], str], tuple[int, str]], arguments: tuple[str, ...], reader: str
) -> None:
    """`rank --json --pairs` and `show --json` print more than the 64 KiB a pipe holds."""
    code, stderr = piped[arguments, reader]
    assert code == VERDICTS[arguments]
    assert "Traceback" not in stderr
    assert "error" not in stderr
    assert "Exception" not in stderr


FULL = "error: standard output: No space left on device.\n"


@pytest.mark.parametrize(
    ("arguments", "shell", "said"),
    [
        (("rank", "digits.parquet"), ">/dev/full", FULL),
        (("rank", "digits.parquet", "--json"), ">/dev/full", FULL),
        (("--version",), ">/dev/full", FULL),
        (
            ("rank", "digits.parquet"),
            ">&-",
            "error: standard output is closed. To see no output, send it to /dev/null.\n",
        ),
    ],
)  # fmt: skip
def test_an_output_that_cannot_be_written_is_one_error_line(
    folder: Path, arguments: tuple[str, ...], shell: str, said: str
) -> None:
    done = subprocess.run(
        ["bash", "-c", f'"$@" {shell}', "bash", *CAMILLA, *arguments],
        cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, said)


FAILING = """
import polars as pl
from camilla.cli import main as command
@command.app.command()
def fail(kind: str) -> None:
    if kind == "polars":
        pl.DataFrame({"a": [1]}).select("b")
    raise RuntimeError("a bug")
command.main()
"""


def test_what_polars_refuses_is_one_line_and_a_bug_is_a_traceback(tmp_path: Path) -> None:
    refused, bug = (
        subprocess.run(
            [sys.executable, "-c", FAILING, "fail", kind],
            cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=False,
        )
        for kind in ("polars", "bug")
    )  # fmt: skip
    assert refused.returncode == 1
    assert refused.stderr.startswith("error: ")
    assert refused.stderr.count("\n") == 1
    assert bug.returncode == 1
    assert bug.stderr.endswith("RuntimeError: a bug\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", NAMES)
def test_progress_on_a_terminal_shows_names_as_they_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is drawn anew ten times a second."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress("loading") as watch:
        watch(name)
        end = time.monotonic() + 5
        while f"loading: {name}" not in terminal.getvalue() and time.monotonic() < end:
            time.sleep(0.05)
    assert f"loading: {name}" in terminal.getvalue()
    assert terminal.getvalue().rsplit("\r", 2)[1].strip() == ""


SLOW = """
import sys, time
from camilla.display import watching
with watching("counting", eval(sys.argv[1]), None) as watch:
    watch("one")
    time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize(
    ("wanted", "seconds", "shown"),
    [("None", 3.0, True), ("None", 0.5, False), ("False", 3.0, False), ("True", 0.5, True)],
)
def test_python_shows_progress_of_what_takes_long_unless_told_not_to(
    wanted: str, seconds: float, shown: bool, tmp_path: Path
) -> None:
    """After two seconds on a terminal; at the end the line is gone."""
    command = [sys.executable, "-c", SLOW, wanted, str(seconds)]
    _, said = in_terminal(command, 80, tmp_path)
    assert ("counting: one" in said) == shown
    assert not said or said.endswith(" \r")


def test_python_is_silent_where_a_line_cannot_be_taken_away(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SLOW, "None", "2.5"],
        cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("", "")


TABLE = camilla.simulate(20, 30, seed=1).table
LONG_RUNS = {
    "diagnose": lambda how: camilla.diagnose(TABLE, "mirt", dimensions=2, precision=1.0, **how),
    "items": lambda how: camilla.items(TABLE, **how),
    "select": lambda how: camilla.select(TABLE, 5, repeats=1, **how),
    "replay": lambda how: camilla.replay(TABLE, splits=1, shares=(0.5,), **how),
    "skills": lambda how: camilla.skills(TABLE, 2, **how),
    "experiment": lambda how: camilla.experiment(
        "reliability", TABLE, diagnosers=["vanilla"], seeds=[1], **how
    ),
    "epp": lambda how: camilla.epp(
        camilla.Tournament(("a", "b", "c"), ("1", "2", "3"), np.array([[3.0, 1, 2], [2, 3, 1], [1, 2, 4]])),
        se="bootstrap", replicates=2, **how,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG_RUNS)
def test_long_runs_tell_whoever_watches_and_show_it_if_wanted(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: list[str] = []
    LONG_RUNS[name]({"watch": lines.append})
    assert lines
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    LONG_RUNS[name]({"progress": False})
    assert terminal.getvalue() == ""
    LONG_RUNS[name]({"progress": True})
    assert terminal.getvalue()


def test_sentences_are_wrapped_between_words_and_tables_stand_between_empty_lines() -> None:
    text = as_text(["one two three four", Grid("title", pl.DataFrame({"a": [1]})), "end"], 10)
    assert text == "one two\nthree four\n\ntitle\n\n a\n ─\n 1\n\nend"


@pytest.mark.parametrize("protocol", ["reliability", "assumptions"])
def test_experiment_spells_out_the_name_of_a_table(
    protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file may be called anything; results are kept by its name."""
    path = tmp_path / f"{BELL.replace('/', '')}[red].csv"
    rows = [f"m{i},q{j},{int((i * j + i) % 3 > 0)}" for i in range(8) for j in range(12)]
    path.write_text("learner,sample,response\n" + "\n".join(rows))
    arguments = ["experiment", protocol, str(path), "--with", "vanilla", "--seeds", "1", "--jobs", "1"]
    monkeypatch.setattr(sys, "argv", ["camilla", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    printed = capsys.readouterr()
    assert not end.value.code, printed.err
    assert "evil\\x1b]0;owned\\x07\\x1b[31m[red]: " in printed.out
    assert not set(printed.out) & {"\x1b", "\x07"}
