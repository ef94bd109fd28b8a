"""The words of pages, help texts, messages and docstrings: no wording that stops a reader."""

import ast
import math
import tarfile
import zipfile
from pathlib import Path

import pytest

import words

EVERY = list(words.texts())


def test_no_banned_wording_is_left() -> None:
    found = [one for text in EVERY for one in words.banned(text)]
    assert found == []


def test_every_kind_of_text_is_looked_at() -> None:
    places = {text.place.split(":")[0] for text in EVERY}
    wanted = {
        "README.md",
        "docs/index.md",
        "docs/notebooks/epp-leaderboard.ipynb",
        "src/camilla/cli/compare.py",
        "src/camilla/diagnosis.py",
    }
    assert wanted <= places
    assert any(place.startswith("web/src/") for place in places)


@pytest.mark.parametrize(
    ("text", "n_found"),
    [
        ("One row a response.", 1),
        ("One row per response, one column for each learner.", 0),
        ("a number a\nlearner", 1),
        ("It names a sample and records a response.", 0),
        ("Which skills a sample needs.", 0),
        ("mean loss a response", 1),
        ("It foretells held-out responses.", 1),
        ("They cannot be told apart.", 0),
        ("Nothing is said of it.", 1),
        ("The pool of paper 003.", 1),
        ("The learners stand out.", 0),
        ("a 95% interval", 1),
        ("a 95 % interval", 0),
    ],
)
def test_banned_wordings_are_found(text: str, n_found: int) -> None:
    assert len(words.banned(words.Text("here", text))) == n_found


def test_messages_are_looked_at_with_what_is_put_in() -> None:
    """The f-string of a message is one text, so that a wording across its parts is found."""
    texts = [text for text in EVERY if text.place.startswith("src/camilla/diagnosis.py")]
    assert any(text.text.startswith("no … … in this diagnosis.") for text in texts)


def test_no_format_writes_a_percentage_without_its_space() -> None:
    """What `:.0%` prints is "95%"; 95 % is what tables, sentences and pictures say elsewhere."""
    found = [
        f"{file.relative_to(words.ROOT)}:{value.lineno}"
        for folder in ("src", "scripts")
        for file in sorted((words.ROOT / folder).rglob("*.py"))
        for value in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(value, ast.FormattedValue)
        and value.format_spec is not None
        and ast.unparse(value.format_spec).endswith("%'")
    ]
    assert found == []


@pytest.mark.parametrize(
    ("word", "count"),
    [("cat", 1), ("table", 2), ("response", 2), ("used", 1), ("wanted", 2), ("ability", 4), ("scores", 1)],
)
def test_syllables_are_counted(word: str, count: int) -> None:
    assert words.syllables(word) == count


def test_reading_ease_is_flesch_of_the_prose_alone() -> None:
    """Two sentences of 6 and 4 words, 12 syllables: the, cat, sat, on, the, mat; it, wanted, a, mat-tress."""
    sentences = "The cat sat on the mat. It wanted a mattress."
    found = words.ease(f"# A heading\n\n{sentences}\n\n| a table | with words |\n\n```\ncode\n```\n")
    assert (found.words, found.words_per_sentence) == (10, 5)
    assert math.isclose(found.flesch, 206.835 - 1.015 * 5 - 84.6 * 12 / 10)


METADATA = "Metadata-Version: 2.4\nName: shelf\nVersion: 1.2\nDescription-Content-Type: text/x-rst\n\n"


def test_a_readme_is_read_from_the_package_that_carries_it(tmp_path: Path) -> None:
    """A wheel has it in METADATA, a source distribution in PKG-INFO, below the headers."""
    text = "The cat sat on the mat.\n"
    with zipfile.ZipFile(tmp_path / "shelf-1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr("shelf-1.2.dist-info/METADATA", METADATA + text)
        wheel.writestr("shelf/data/METADATA", "another file")
    (tmp_path / "PKG-INFO").write_text(METADATA + text)
    with tarfile.open(tmp_path / "shelf-1.2.tar.gz", "w:gz") as source:
        source.add(tmp_path / "PKG-INFO", "shelf-1.2/PKG-INFO")
        source.add(tmp_path / "PKG-INFO", "shelf-1.2/src/shelf.egg-info/PKG-INFO")
    (tmp_path / "shelf.md").write_text(text)
    packages = sorted(tmp_path.glob("shelf-*"))
    assert [words.readme(path) for path in packages] == [words.Readme("shelf 1.2", text)] * 2
    assert words.readme(tmp_path / "shelf.md") == words.Readme("shelf", text)


def test_links_and_titles_of_restructuredtext_are_no_prose() -> None:
    page = (
        "|badge|\n\n.. |badge| image:: https://example.org\n   :target: https://example.org\n\n"
        "A title\n-------\n\nThe cat sat on `the mat <https://example.org>`__.\n"
    )
    assert words.prose(page).split() == ["The", "cat", "sat", "on", "the", "mat."]
    assert words.prose("The cat sat.\n\n[badge]: https://example.org\n").split() == ["The", "cat", "sat."]
