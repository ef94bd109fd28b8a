"""What commands print: names from data reach the terminal as text, whatever they hold."""

import io
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from camilla.cli.main import main
from camilla.display import print_frame, progress
from camilla.names import in_quotes

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


def test_a_narrow_terminal_cuts_names_in_their_middle_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    print_frame(pl.DataFrame({"sample": LONG, "accuracy": [0.123, 0.456], "q": [0.5, 0.25]}), title="t")
    rows = [line.rstrip() for line in capsys.readouterr().out.splitlines() if "#" in line]
    assert [row[row.index("#") :].split() for row in rows] == [
        ["#a", "0.123", "0.500"],
        ["#b", "0.456", "0.250"],
    ]
    assert all(20 < len(row) <= 50 for row in rows)


@pytest.mark.parametrize(
    ("column", "value", "printed"),
    [
        ("q", 4.2e-07, "4.2e-07"), ("holm_p", 1e-300, "1e-300"), ("p_value", 0.00049, "0.00049"),
        ("p", 0.0, "0"), ("p", 0.0005, "0.001"), ("p", 1.0, "1"), ("difference", 5.6e-17, "0"),
    ],
)  # fmt: skip
def test_a_small_probability_is_not_zero(
    column: str, value: float, printed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half a thousandth is the least that three decimals show; of differences that is nothing."""
    print_frame(pl.DataFrame({column: [value]}), title="t")
    assert capsys.readouterr().out.split()[-1] == printed


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("name", NAMES)
def test_progress_on_a_terminal_shows_names_as_they_are(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is drawn anew some 12 times a second; half a second is six times."""
    terminal = Terminal()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", terminal)
    with progress("loading") as watch:
        watch(name)
        end = time.monotonic() + 5
        while f"loading: {name}" not in terminal.getvalue() and time.monotonic() < end:
            time.sleep(0.05)
    assert f"loading: {name}" in terminal.getvalue()


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
