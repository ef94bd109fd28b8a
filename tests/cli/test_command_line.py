"""What holds for every command: help in panels with an example, --quiet, defaults from a file, completion."""

import json
import re
import shlex
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import camilla as api
from camilla.cli import completing
from camilla.cli.defaults import commands_of
from camilla.cli.main import DOCS, PANELS, app
from camilla.cli.options import CONTENT_PANEL, LOGS_PANEL, TABLE_PANEL
from camilla.diagnosing import AUTO
from camilla.models import DIAGNOSERS
from command_line import ENVIRONMENT, camilla, camilla_process

ROOT = Path(__file__).parents[2]
GROUP = get_command(app)


def leaves(command: Any = GROUP, path: tuple[str, ...] = ()) -> dict[str, Any]:
    """Every command that does something, by what is typed: "rank", "pool titanic"."""
    if not hasattr(command, "commands"):
        return {" ".join(path): command}
    return {
        name: leaf
        for part, inner in command.commands.items()
        for name, leaf in leaves(inner, (*path, part)).items()
    }


COMMANDS = leaves()


@lru_cache
def help_of(*words: str) -> str:
    done = camilla(*words, "--help", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def panels_of(text: str) -> dict[str, list[str]]:
    """The names in the first column of each panel of a help text."""
    panels: dict[str, list[str]] = {}
    for line in text.split("\n"):
        if title := re.match(r"╭─ (.+?) ─", line):
            panels[title[1]] = []
        elif entry := re.match(r"│ (?:\*)?\s{0,4}(--[\w-]+|\w[\w-]*)  ", line):
            list(panels.values())[-1].append(entry[1])
    return panels


def test_commands_are_grouped_and_each_is_in_one_panel() -> None:
    panels = panels_of(help_of())
    assert list(panels) == ["Options", *PANELS]
    shown = [name for title in PANELS for name in panels[title]]
    assert sorted(shown) == sorted(GROUP.commands)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_that_the_command_takes_and_a_page(name: str) -> None:
    """The example is parsed, with its options and arguments, by the command itself; nothing is run."""
    text = " ".join(help_of(*name.split()).split())
    example = re.search(rf"Example: camilla {name}( .*?)? [╭│]", text)
    assert example, "no example"
    words = shlex.split(example[1] or "")
    COMMANDS[name].make_context(name, words, parent=GROUP.make_context("camilla", ["demo"])).close()
    page = f"{DOCS}/{name.partition(' ')[0]}.md"
    assert f"More: {page}" in text
    assert (ROOT / page).is_file()


def test_table_options_come_behind_those_of_the_command() -> None:
    readers = [name for name in COMMANDS if "--percent" in help_of(*name.split())]
    assert {"rank", "compare", "diagnose", "judges"} <= set(readers)
    for name in readers:
        panels = panels_of(help_of(*name.split()))
        own, *rest = [title for title in panels if title != "Arguments"]
        assert own == "Options"
        assert set(rest) <= {TABLE_PANEL, CONTENT_PANEL, LOGS_PANEL}
        assert {"--percent", "--missing", "--scale"} & set(panels["Options"]) == set()
        assert "--quiet" in panels["Options"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A long table with a column of another name, in which `three` has right what the others have not."""
    lines = ["model,sample,response"]
    for sample in range(20):
        right = {"one": sample < 15, "two": sample < 12, "three": sample >= 2}
        lines += [f"{model},q{sample},{int(right[model])}" for model in right]
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def settings(folder: Path, text: str) -> None:
    (folder / "pyproject.toml").write_text(text)


RANK = ("rank", "table.csv", "--learner", "model", "--json")


def test_quiet_drops_notes_and_keeps_the_result(folder: Path) -> None:
    settings(folder, "[tool.camilla]\nlevel = 0.9\n")
    loud = camilla(*RANK, cwd=folder)
    assert loud.stderr.startswith("note: ")
    for words in (("--quiet", *RANK), (*RANK, "--quiet")):
        quiet = camilla(*words, cwd=folder)
        assert (quiet.returncode, quiet.stderr) == (0, "")
        assert quiet.stdout == loud.stdout


def test_quiet_keeps_errors(folder: Path) -> None:
    done = camilla("--quiet", "rank", "missing.csv", cwd=folder)
    assert done.returncode == 1
    assert done.stderr.startswith("error: missing.csv")


def test_defaults_come_from_the_nearest_file_that_has_some(folder: Path) -> None:
    settings(folder, '[tool.camilla]\nlevel = 0.9\njson = true\n[tool.camilla.table]\nlearner = "model"\n')
    inner = folder / "inner" / "most"
    inner.mkdir(parents=True)
    settings(folder / "inner", "[tool.other]\nlevel = 0.8\n")
    done = camilla("rank", "../../table.csv", cwd=inner)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["level"] == 0.9
    assert "note: defaults from ../../pyproject.toml: --level 0.9 --json --learner model\n" in done.stderr


def test_the_narrower_setting_wins_and_the_command_line_over_all(folder: Path) -> None:
    settings(
        folder,
        '[tool.camilla]\nlevel = 0.9\n[tool.camilla.table]\nlearner = "x"\n'
        '[tool.camilla.rank]\nlevel = 0.8\nlearner = "model"\nacross_blocks = false\n',
    )
    done = camilla("rank", "table.csv", "--json", cwd=folder)
    assert json.loads(done.stdout)["level"] == 0.8
    given = camilla("rank", "table.csv", "--json", "--level", "0.7", cwd=folder)
    assert json.loads(given.stdout)["level"] == 0.7
    assert "--level" not in given.stderr


def test_defaults_reach_the_commands_of_a_group(folder: Path) -> None:
    settings(folder, "[tool.camilla.store.tokens]\njson = true\n[tool.camilla.pool.titanic]\njobs = 2\n")
    done = camilla("pool", "titanic", "missing", "-o", "out", cwd=folder)
    assert "note: defaults from pyproject.toml: --jobs 2\n" in done.stderr


def test_a_default_that_can_do_nothing_is_no_error_and_an_option_is(folder: Path) -> None:
    settings(folder, '[tool.camilla.table]\nlearner = "model"\nweight = "sample"\n')
    words = ("power", "--sd", "0.4", "--difference", "0.05")
    assert camilla(*words, cwd=folder).returncode == 0
    refused = camilla(*words, "--learner", "model", cwd=folder)
    assert refused.returncode == 2
    assert "--learner does nothing without a TABLE" in refused.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("levle = 0.9", "[tool.camilla] has no setting 'levle'. Did you mean 'level'?"),
        ("learner = 'model'", "[tool.camilla] has no setting 'learner'."),
        ("[tool.camilla.rnak]\nlevel = 0.9", "[tool.camilla] has no setting 'rnak'. Did you mean 'rank'?"),
        ("[tool.camilla.rank]\nlearnes = 3", "rank] has no setting 'learnes'. Did you mean 'learners'?"),
        ("[tool.camilla.table]\nresponce = 'x'", "] has no setting 'responce'. Did you mean 'response'?"),
        ("[tool.camilla.pool]\ntitanik = {}", "pool] has no setting 'titanik'. Did you mean 'titanic'?"),
        ("[tool.camilla.rank.level]\nx = 1", "[tool.camilla.rank]: level is a number; got {'x': 1}."),
        ("[tool.camilla.pool]\ntitanic = 3", "[tool.camilla.pool.titanic] is a table of settings; got 3."),
        ("rank = 3", "[tool.camilla.rank] is a table of settings; got 3."),
        ("level = 'high'", "[tool.camilla]: level is a number; got 'high'."),
        ("level = true", "[tool.camilla]: level is a number; got True."),
        ("seed = 1.5", ": seed is a whole number; got 1.5."),
        ("quiet = 1", ": quiet is true or false; got 1."),
        ("[tool.camilla.table]\nmissing = 'na'", ": missing is a list, each entry a text; got 'na'."),
        ("[tool.camilla.rank]\nlearner = 3", "[tool.camilla.rank]: learner is a text; got 3."),
        ("levle = \n", "pyproject.toml: is not TOML"),
    ],
)  # fmt: skip
def test_a_setting_that_is_not_known_or_does_not_fit_is_an_error(folder: Path, text: str, said: str) -> None:
    settings(folder, f"[tool.camilla]\n{text}\n")
    done = camilla("rank", "table.csv", "--learner", "model", cwd=folder)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr


def test_every_option_of_every_command_can_be_set_in_the_file() -> None:
    """The reader of the file and the command line know the same options."""
    known = commands_of(app)
    for name, command in COMMANDS.items():
        options: Any = known
        for part in name.split():
            options = options[part]
        words = [word for parameter in command.params for word in parameter.opts if word.startswith("--")]
        assert {f"--{name}" for name in options} == set(words) - {"--help"}, name
        parameters = {parameter.name for parameter in command.params}
        assert {option.parameter for option in options.values()} <= parameters


def test_the_diagnosers_that_are_proposed_are_those_that_exist() -> None:
    assert list(completing.DIAGNOSERS) == sorted([AUTO, *DIAGNOSERS])


def completed(line: str, folder: Path) -> list[str]:
    """What Bash is proposed for the last word of a line."""
    variables = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    environment = ENVIRONMENT | variables | {"_CAMILLA_COMPLETE": "complete_bash"}
    done = camilla_process(cwd=folder, environment=environment)
    assert done.stderr == ""
    return [word for word in done.stdout.split("\n") if word]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The index of a diagnosis as `camilla diagnose` writes it."""
    where = tmp_path_factory.mktemp("completion")
    frame = api.simulate(3, 30, seed=1).table.to_long()
    names = dict(zip(sorted(set(frame["learner"])), ["svm rbf", "svm poly", "lda"], strict=True))
    table = api.ResponseTable.from_long(frame.with_columns(frame["learner"].replace(names)))
    api.diagnose(table, "vanilla").save(where / "diagnosis")
    return where


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("camilla sele", ["select"]),
        ("camilla pool t", ["titanic"]),
        ("camilla diagnose table.csv --with dina", ["dina"]),
        ("camilla experiment reliability t.csv --with irt,vani", ["irt,vanilla"]),
        ("camilla rank t.csv --rows ", ["samples", "learners"]),
        ("camilla show diagnosis --learner s", [r"svm\ poly", r"svm\ rbf"]),
        ("camilla curriculum diagnosis --for l", ["lda"]),
        ("camilla show no-such-folder --learner s", []),
    ],
)
def test_a_shell_is_proposed_words(saved: Path, line: str, words: list[str]) -> None:
    assert sorted(completed(line, saved)) == sorted(words)
