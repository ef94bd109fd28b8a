"""The pages show what really happens: sessions and examples are run, and nothing public is without a page."""

import dataclasses
import doctest
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import jax
import pytest
import typer

import camilla
import command_line
from camilla import errors
from camilla.cli.main import PANELS, app
from camilla.diagnosis import Diagnosis
from camilla.models import DIAGNOSERS
from camilla.table.responses import ResponseTable

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
TABLE_FILE = re.compile(r"\.(csv|tsv|jsonl|parquet)$")
PROGRESS = re.compile(
    r"^(diagnosing with [\w-]+|pool \w+|experiment|ranking|control"
    r"|judging samples|selecting|calibrating|replaying|comparing groups|finding skills"
    r"|choosing a committee|routing): "
)  # said every five seconds on a slow machine
SHELL = re.compile(r"[|&;<>$`*?\[]")  # what a shell would act on
FOR_EVERY_COMMAND = ("--help", "--quiet")  # on the index of commands
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]

# What pages call public tables that the project does not ship, and where CAMILLA_DATA has them.
PUBLIC = {
    "eloml_auc_scores.csv": "mementoml/eloml_auc_scores.csv",
    "llmfao_pairwise.parquet": "llmfao/llmfao_pairwise.parquet",
    "superglue.csv": "superglue/superglue_leaderboard_2021_voteandrank.csv",
    "vtab.csv": "vtab/vtab_leaderboard_epp.csv",
    "vtab_leaderboard_epp.csv": "vtab/vtab_leaderboard_epp.csv",
}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


class Step(NamedTuple):
    """A command of a session and what the page says it prints."""

    command: str
    printed: list[str]

    @property
    def files(self) -> list[str]:
        return [word for word in shlex.split(self.command) if TABLE_FILE.search(word)]


def sessions(page: Path) -> list[list[Step]]:
    """The console blocks of a page: each `$ …` line with the lines up to the next."""
    out = []
    for kind, _, text in FENCE.findall(page.read_text(encoding="utf-8")):
        if kind == "console":
            parts = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
            out.append([Step(part.split("\n")[0], _lines("\n".join(part.split("\n")[1:]))) for part in parts])
    return out


def on_public_tables(session: list[Step]) -> bool:
    return any(file in PUBLIC for step in session for file in step.files)


def run_session(session: list[Step], folder: Path) -> None:
    """A file that is shown by `cat` and is not there is made; where no output is shown, success is enough.

    As at the root of a clone, `docs/examples` is there.
    """
    if not (folder / "docs").exists():
        (folder / "docs").symlink_to(DOCS)
    for step in session:
        words = shlex.split(step.command)
        if words[0] == "cat" and not (folder / words[1]).exists():
            (folder / words[1]).write_text("\n".join(step.printed) + "\n", encoding="utf-8")
            continue
        run = run_step(step.command, folder)
        printed = [line for line in _lines(run.stdout) if not PROGRESS.match(line)]
        if step.printed:
            assert agrees(printed, step.printed), f"$ {step.command}\n" + "\n".join(printed)
        else:
            assert run.returncode == 0, run.stdout


def run_step(command: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    """A plain `camilla …` in this process; whatever else a shell can do in a shell."""
    words = shlex.split(command)
    if words[0] == "camilla" and not SHELL.search(command):
        return command_line.camilla(*words[1:], cwd=folder, columns=100, one_stream=True)
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
    }
    return subprocess.run(
        command, shell=True, cwd=folder, env=environment, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def agrees(printed: list[str], shown: list[str]) -> bool:
    """Line by line the same; a line `…` stands for any lines, and `…` in a line for any text."""
    if not shown:
        return not printed
    if shown[0] == "…":
        return any(agrees(printed[skipped:], shown[1:]) for skipped in range(len(printed) + 1))
    return bool(printed) and line_agrees(printed[0], shown[0]) and agrees(printed[1:], shown[1:])


NUMBER = r"[-−+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?"
ALONE = re.compile(rf"(?<![\w.−-]){NUMBER}(?![\w.−-]*\w)")  # not the 7 of llama-7b nor the 0129 of digit-0129


def line_agrees(printed: str, shown: str) -> bool:
    """Words and whole numbers are the same; a decimal number may be one off in its last digit.

    A value that lies at the border of two digits is rounded up on one CPU and down on another. Where a
    number is, columns may shift by the width of its digits.
    """
    words, numbers = ALONE.split(shown), ALONE.findall(shown)
    if re.fullmatch("…".join(map(re.escape, re.split("…", shown))).replace("…", ".*"), printed):
        return True
    texts = [re.sub(r"(?:\\ )+", " +", re.escape(text)).replace("…", ".*") for text in words]
    found = re.fullmatch(f"({NUMBER})".join(texts), printed)
    if found is None or list(found.groups()) == numbers:
        return False
    return all(map(one_off, found.groups(), numbers))


def one_off(printed: str, shown: str) -> bool:
    """Whether two numbers are the same, or at most one apart in the last decimal that either shows."""
    one, other = (Decimal(text.replace("−", "-").replace(",", "")) for text in (printed, shown))
    last = min(int(one.as_tuple().exponent), int(other.as_tuple().exponent))
    return printed == shown or ("." in printed + shown and abs(one - other) <= Decimal(1).scaleb(last))


class ToTheirDigits(doctest.OutputChecker):
    """Numbers in examples are compared as those in sessions."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got, optionflags) or agrees(
            _lines(got), _lines(want.replace("...", "…"))
        )


@pytest.mark.parametrize(
    ("printed", "shown", "same"),
    [
        ("ability 0.123", "ability 0.124", True),
        ("ability 0.123", "ability 0.125", False),
        ("ability 0.123", "Ability 0.124", False),
        ("ability 0.123", "ability 0.1234", False),
        ("ability -0.001", "ability  0", True),
        ("12 samples by 0.5", "13 samples by 0.5", False),
        ("digit-0129 0.119", "digit-0130 0.119", False),
        ("llama-7b 0.50", "llama-8b 0.50", False),
        ("a      0.9", "a 0.9", False),
        ("rest 0.9995 … x", "rest 0.9996 … x", True),
        ("p = 1.2e-05", "p = 1.3e-05", True),
        ("p = 1.2e-05", "p = 1.4e-05", False),
        ("1,797.5", "1,797.6", True),
        ("mae 0.999 or 46.2%", "mae 1 or 46.1%", True),
        ("{'learners': 4, 'loss': 0.25}", "{'learners': 4, 'loss': 0.26}", True),
        ("version 1.2.3", "version 1.2.4", False),
    ],
)  # fmt: skip
def test_pages_claim_their_numbers_to_the_last_digit(printed: str, shown: str, same: bool) -> None:
    assert agrees([printed], [shown]) == same


def _lines(text: str) -> list[str]:
    """Without spaces at the ends of lines and empty lines at the end of all."""
    return (
        "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n").split("\n") if text.strip() else []
    )


@pytest.mark.parametrize("page", [page for page in PAGES if sessions(page)], ids=name_of)
def test_sessions_print_what_the_page_shows(page: Path, tmp_path: Path) -> None:
    for session in sessions(page):
        if not on_public_tables(session):
            run_session(session, tmp_path)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(map(on_public_tables, sessions(page)))], ids=name_of
)
def test_sessions_on_public_tables_print_what_the_page_shows(
    page: Path, tmp_path: Path, data_folder: Path
) -> None:
    for name, where in PUBLIC.items():
        (tmp_path / name).symlink_to(data_folder / where)
    for session in filter(on_public_tables, sessions(page)):
        run_session(session, tmp_path)


@pytest.fixture
def _quickly_compiled() -> Iterator[None]:
    """Neural examples train for moments: what optimising their code would gain it costs many times over."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.mark.usefixtures("_quickly_compiled")
@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text()], ids=name_of)
def test_examples_answer_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not a Python block is blanked out, so that line numbers stay those of the page."""
    monkeypatch.chdir(tmp_path)
    text, inside = [], False
    for line in page.read_text(encoding="utf-8").split("\n"):
        fence = line.startswith("```")
        text.append("" if fence or not inside else line)
        inside = line.startswith("```python") if fence else inside
    example = doctest.DocTestParser().get_doctest("\n".join(text), {}, page.name, str(page), 0)
    said: list[str] = []
    runner = doctest.DocTestRunner(ToTheirDigits(), optionflags=doctest.ELLIPSIS)
    assert runner.run(example, out=said.append).failed == 0, "".join(said)


def test_every_python_block_is_an_example_that_is_run() -> None:
    blocks = [(page.name, text) for page in PAGES for kind, _, text in FENCE.findall(page.read_text())
              if kind == "python"]  # fmt: skip
    assert [block for block in blocks if not block[1].startswith(">>> ")] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [link for link in LINK.findall(page.read_text()) if "://" not in link]
    assert [link for link in targets if not (page.parent / link).exists()] == []


def test_every_page_can_be_reached_from_the_index() -> None:
    """By links of the index, or of a folder's index that it links to."""
    reached, new = set[Path](), {DOCS / "index.md"}
    while new:
        reached |= new
        indices = [page for page in new if page.name == "index.md"]
        new = {(page.parent / link).resolve() for page in indices for link in LINK.findall(page.read_text())}
        new -= reached
    assert [name_of(page) for page in PAGES[1:] if page not in reached] == []


def test_questions_are_answered_by_the_clicks_that_are_written_down() -> None:
    table = (DOCS / "results/questions.md").read_text()
    chains = [re.findall(r"`([\w/.-]+\.(?:md|ipynb))`", line) for line in table.split("\n") if " → " in line]
    assert len(chains) >= 2
    for chain in chains:
        for page, to in pairwise(DOCS / name for name in chain):
            links = {(page.parent / link).resolve() for link in LINK.findall(page.read_text())}
            assert to in links, f"{page} does not link to {to}"


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("item", "commands/items.md"),
        ("examinee", None),
        ("2PL", "diagnosers/irt.md"),
        ("MAP", "diagnosers/irt.md"),
        ("EAP", "diagnosers/bayes.md"),
        ("marginal (maximum) likelihood", "diagnosers/dina.md"),
        ("differential item functioning", "commands/dif.md"),
        ("CAT", "commands/adapt.md"),
        ("Q-matrix", "tables/skills.md"),
        ("significance", "commands/compare.md"),
        ("simultaneous", "commands/rank.md"),
        ("familywise", "commands/rank.md"),
        ("held out", "commands/experiment.md"),
        ("hyperparameter", "commands/diagnose.md"),
        ("calibration", "python.md"),
        ("leaderboard", "leaderboard.md"),
        ("LLM-as-a-judge", "commands/judges.md"),
        ("router", "commands/route.md"),
        ("ensemble", "commands/ensemble.md"),
        ("contamination", "commands/dif.md"),
    ],
)
def test_a_word_of_another_field_leads_from_the_glossary_to_its_page(word: str, page: str | None) -> None:
    rows = [row for row in (DOCS / "glossary.md").read_text().split("\n") if row.startswith("| **")]
    found = [row for row in rows if re.search(rf"(?<!\w){re.escape(word)}(?!\w)", row)]
    assert found, f"{word!r} is not in the glossary"
    assert page is None or any(f"]({page}" in row for row in found)


def test_every_public_name_is_on_an_api_page() -> None:
    pages = "".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    named = re.findall(r"^\.\. auto\w+:: camilla\.(\w+)$", pages, re.MULTILINE)
    assert sorted(named) == camilla.__all__


@pytest.mark.parametrize("name", DIAGNOSERS)
def test_every_setting_of_a_diagnoser_is_on_its_page(name: str) -> None:
    page = (DOCS / "diagnosers" / f"{name}.md").read_text()
    settings = [field.name for field in dataclasses.fields(DIAGNOSERS[name]) if field.name != "size"]  # type: ignore[arg-type]
    assert [setting for setting in settings if f"| `{setting}` |" not in page] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_on_its_page(name: str) -> None:
    page = (DOCS / "commands" / f"{name}.md").read_text()
    options = [
        option
        for parameter in COMMANDS[name].params
        if parameter.param_type_name == "option"
        for option in [*parameter.opts, *parameter.secondary_opts]
        if option not in FOR_EVERY_COMMAND
    ]
    assert [option for option in options if f"`{option}" not in page] == []


def test_the_index_of_commands_has_them_in_the_panels_of_the_help_text() -> None:
    page = (DOCS / "commands/index.md").read_text()
    assert [option for option in FOR_EVERY_COMMAND if f"`{option}`" not in page] == []
    for panel, commands in PANELS.items():
        (paragraph,) = [text for text in page.split("\n\n") if text.startswith(f"**{panel}.**")]
        names = [command.info.name if isinstance(command, typer.Typer) else command.__name__
                 for command in commands]  # fmt: skip
        assert re.findall(r"\[(\w+)\]\(\1\.md\)", paragraph) == names


def test_every_way_to_make_a_table_has_a_page() -> None:
    tables = "".join(page.read_text() for page in (DOCS / "tables").glob("*.md"))
    ways = [name for name in dir(ResponseTable) if name.startswith("from_")]
    assert [way for way in ways if way not in tables] == []


def test_every_public_name_and_error_is_on_the_python_page() -> None:
    page = (DOCS / "python.md").read_text()
    assert [name for name in camilla.__all__ if f"`camilla.{name}" not in page] == []
    raised = [name for name in vars(errors) if not name.startswith("_")]
    assert [name for name in raised if f"`camilla.{name}`" not in page] == []


def test_every_column_and_method_of_a_diagnosis_is_on_the_python_page() -> None:
    page = (DOCS / "python.md").read_text()
    table = camilla.simulate(8, 20, seed=1).table
    found = camilla.diagnose(table, "irt", form="3pl", precision=3.0)
    frames = (found.learners, found.samples, found.skills, found.predict(), found.place(table))
    names = {column for frame in frames for column in frame.columns} | set(found.provenance)
    names |= {
        name for name in vars(Diagnosis) if not name.startswith("_") and callable(getattr(Diagnosis, name))
    }
    assert sorted(name for name in names if f"`{name}" not in page and f".{name}(" not in page) == []
