"""What a release promises: one version, honest lower bounds, workflows and pages that name what exists."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

import camilla
import minimum_versions
import release_notes

ROOT = Path(__file__).parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINS = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def test_the_version_is_written_in_one_place() -> None:
    assert PYPROJECT["project"]["dynamic"] == ["version"]
    assert PYPROJECT["tool"]["hatch"]["version"]["path"] == "src/camilla/__init__.py"
    assert release_notes.version() == camilla.__version__
    assert "version" not in PYPROJECT["project"]
    assert not re.search(r"^version:", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)


def test_every_package_has_a_lower_bound_not_above_what_is_installed() -> None:
    """`make test-minimum` runs with the bounds, `make test` with the pins."""
    extras = PYPROJECT["project"]["optional-dependencies"].values()
    for text in [*PYPROJECT["project"]["dependencies"], *(one for extra in extras for one in extra)]:
        requirement = Requirement(text)
        if requirement.name == "camilla":
            continue
        bounds = [one for one in requirement.specifier if one.operator == ">="]
        assert bounds, text
        if requirement.name in PINS:
            assert Version(bounds[0].version) <= Version(PINS[requirement.name]), text


def test_minimum_versions_are_the_lower_bounds(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(
        '[project]\ndependencies = ["a>=1.2", "b_c[x]>=3,<5"]\n[project.optional-dependencies]\n'
        'more = ["d>=0.1.2rc1"]\ndocs = ["e>=1"]\ndev = ["camilla[more]", "pytest>=8"]\n'
    )
    assert minimum_versions.lowest_versions(file) == {"a": "1.2", "b_c": "3", "d": "0.1.2rc1"}


CHANGELOG = (
    "# Changelog\n\n## [Unreleased]\n\n"
    "## [1.2.0] - 2026-12-01\n\n### Added\n\n* One.\n\n## [1.1.0]\n\n* Two.\n"
)


def test_notes_of_a_release_are_the_section_of_its_version() -> None:
    assert release_notes.notes(CHANGELOG, "1.2.0") == "### Added\n\n* One."


@pytest.mark.parametrize(("version", "why"), [("1.3.0", "has no section"), ("1.1.0", "has no date")])
def test_a_release_without_notes_or_date_is_refused(version: str, why: str) -> None:
    with pytest.raises(SystemExit, match=why):
        release_notes.notes(CHANGELOG, version)


def test_the_changelog_begins_with_what_is_not_released() -> None:
    headings = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == "Unreleased"


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_what_exists(workflow: Path) -> None:
    text = workflow.read_text()
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"run: make ([\w-]+)", text)) <= set(targets)
    assert [name for name in re.findall(r"(scripts/\w+\.py)", text) if not (ROOT / name).exists()] == []


def test_every_python_that_is_claimed_is_tested() -> None:
    matrix = re.search(r"python: \[(.+)\]", (ROOT / ".github/workflows/checks.yml").read_text())
    assert matrix is not None
    tested = re.findall(r'"([\d.]+)"', matrix[1])
    named = [
        one.rpartition(" ")[2] for one in PYPROJECT["project"]["classifiers"] if ":: Python :: 3." in one
    ]
    assert set(named) <= set(tested)
    assert f">={tested[0]}" == PYPROJECT["project"]["requires-python"]


def test_pre_commit_formats_with_the_pinned_ruff() -> None:
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    revision = re.search(r"ruff-pre-commit\n\s+rev: v(\S+)", text)
    assert revision is not None
    assert revision[1] == PINS["ruff"]


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"])
def test_links_and_files_of_the_pages_beside_the_readme_exist(name: str) -> None:
    text = (ROOT / name).read_text()
    links = [link for link in LINK.findall(text) if "://" not in link]
    files = [
        file for file in re.findall(r"`((?:src|tests|docs|scripts)/[\w./]+)`", text) if "NAME" not in file
    ]
    assert [path for path in [*links, *files] if not (ROOT / path).exists()] == []
