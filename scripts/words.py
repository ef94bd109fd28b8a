"""Checks the words of README, pages, help texts, messages and docstrings, and measures how easy they read.

    python scripts/words.py                     every banned wording, with its place
    python scripts/words.py --others FILE ...   writes docs/results/words.md

A FILE is another project's README, or a wheel or source distribution that carries it. tests/test_words.py
runs the first part.
"""

import argparse
import ast
import html
import json
import re
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from email import message_from_string
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/results/words.md"

# "one row a response": a counted thing, then what it is counted by. "per" or "each" was wanted. Words that
# are verbs too ("names a sample") count only behind a number, an article or an adjective of amount.
THING = (
    "rows?|columns?|files?|lines?|folders?|abilit(?:y|ies)|entr(?:y|ies)|match(?:es)?|loss|losses|means?|intervals?|"
    "steps?|seconds?|bytes?|responses?|trials?|tasks?|values?|skills?|pages?|cells?|curves?|weights?|verdicts?|"
    "minutes?|times|passes|words?|points?|bits?|outcomes?|tables|objects?|[kmg]i?b|ns|ms|effects?|tournaments|bars?|doa|doc|"
    "scans?|blocks?|dots?|correlations?|data sets?"
)
VERB_TOO = "numbers?|scores?|labels?|names?|records?|fits?|tests?|runs?|estimates?|draws?"
MANY = r"one|two|three|four|five|ten|\d[\d,.]*|an?|only one|mean|total|few|many|several|hundred|thousand"
UNIT = (
    "response|learner|sample|skill|edge|score|cell|fold|format|file|task|trial|player|round|pair|harness|"
    "diagnoser|metric|pass|batch|epoch|page|model|match|judge|cluster|request|line|value|step|fit|row|column|"
    "run|seed|classifier|process|core|folder|second|minute|hour|day|distinct value|data set|draw|tournament|"
    "group|split|worker|command|test|world|board|call|shard|block|submission|forward pass|family|side|digit|"
    "number|key|name|word"
)
COUNTED = rf"(?:{THING})|(?:{MANY}) (?:{VERB_TOO})"
BANNED = {
    r"(?<!u00a)\d%(?![\w{])": 'one style of numbers: "95 %", with a space',
    rf"\b(?<!which )(?<!what )(?:{COUNTED}) an? (?:{UNIT})\b": 'write "per" or "each": one row per response',
    r"\bforet(?:ell|old|ells|elling)\b": "predict",
    r"\bpapers? 00\d\b": "name the paper by authors and year",
    r"\bonly almost\b": "not quite",
    r"\bif only just\b": "borderline",
    r"\bto look at and to send\b": "open it in a browser, or send it to someone",
    r"\bstored already\b": "reused",
    r"\b(?:learners|players) stand\b(?! out)": "name what they do: rank, differ",
    r"\b(?:is|are|was|were) (?:said|told)\b(?! apart)": "say who says what",
    r"\bthe one\b[^.;:|]{0,60}\bthe other\b": "name both",
    r"\b(?:seamless|comprehensive|robustly|leverag(?:e|ing) (?:the|our))\b": "leave the adjective out",
}  # with what to write instead
ANY = re.compile("|".join(BANNED))


class Text(NamedTuple):
    """A piece of text that a reader meets, and where it is."""

    place: str
    text: str


class Found(NamedTuple):
    """A banned wording."""

    place: str
    words: str
    instead: str


def prose(markdown: str) -> str:
    """Sentences of a page: without code, tables, pictures, HTML and the addresses of links.

    Links by reference and what reStructuredText writes otherwise are left out too.
    """
    text = re.sub(r"^\[[^\]]+\]: \S.*$|!\[[^\]]*\]\[[^\]]*\]", "", markdown, flags=re.MULTILINE)
    text = re.sub(r"`([^`<>]+?)\s*<[^`<>]+>`__?", r"\1", html.unescape(text))
    text = re.sub(r"^\|[\w-]+\|.*$|^.+\n(?:[=\-~^*]{3,})\s*$|^\s*:\w+:.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"\|[\w-]+\|", "", text)
    text = re.sub(r"^(```|~~~|:::).*?^\1\s*$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?: {4}|\t).*$|^\s*\|.*$|^\.\. .*$|^:\w+:.*$", "", text, flags=re.MULTILINE)
    text = re.sub(r"<[^>]+>|!\[[^\]]*\]\([^)]*\)|\[!\[.*?\)\]\([^)]*\)", "", text, flags=re.DOTALL)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"https?://\S+|`([^`]*)`", lambda found: "Code" if found[1] else "", text)
    return re.sub(r"^#+.*$|^[=\-~^*]{3,}\s*$|^\|.*\|.*$|[*_]{1,2}", "", text, flags=re.MULTILINE)


def pages() -> Iterator[Text]:
    """README, pages and the text cells of notebooks; what code prints is checked where it is written."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        text = re.sub(r"^```.*?^```$", lambda code: "\n" * code[0].count("\n"), path.read_text(),
                      flags=re.MULTILINE | re.DOTALL)  # fmt: skip
        yield from _lines(path, text)
    for path in sorted((ROOT / "docs").rglob("*.ipynb")):
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] == "markdown":
                yield Text(str(path.relative_to(ROOT)), "".join(cell["source"]))


def _lines(path: Path, text: str) -> Iterator[Text]:
    """Paragraphs with the number of their first line, so that a wording may run over a line's end."""
    line = 1
    for paragraph in re.split(r"(\n\s*\n)", text):
        if paragraph.strip():
            yield Text(f"{path.relative_to(ROOT)}:{line}", paragraph)
        line += paragraph.count("\n")


def source_texts() -> Iterator[Text]:
    """Docstrings, messages, help texts: every string of the source; … stands for what is put in."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        tree = ast.parse(path.read_text())
        inside = {
            id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.JoinedStr):
                parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
                yield Text(f"{path.relative_to(ROOT)}:{node.lineno}", "".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
                yield Text(f"{path.relative_to(ROOT)}:{node.lineno}", node.value)


def report_texts() -> Iterator[Text]:
    """What the report says: the strings of its source."""
    quoted = re.compile(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`')
    for path in sorted((ROOT / "web/src").rglob("*.ts*")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if not line.strip().startswith(("//", "*", "import ")):
                for found in quoted.finditer(line):
                    yield Text(f"{path.relative_to(ROOT)}:{number}", found[1] or found[2] or "")


def texts() -> Iterator[Text]:
    yield from pages()
    yield from source_texts()
    yield from report_texts()


def banned(text: Text) -> list[Found]:
    """The banned wordings of a text."""
    flat = " ".join(text.text.split())
    if ANY.search(flat.lower()) is None:  # most texts have none; ignoring case takes four times as long
        return []
    return [
        Found(text.place, found[0], instead)
        for pattern, instead in BANNED.items()
        for found in re.finditer(pattern, flat, re.IGNORECASE)
    ]


class Ease(NamedTuple):
    """How easy a text reads. Flesch (1948): 60 to 70 is plain English, below 30 very difficult."""

    words: int
    words_per_sentence: float
    syllables_per_word: float
    long_sentences: float  # share of sentences with more than 25 words

    @property
    def flesch(self) -> float:
        return 206.835 - 1.015 * self.words_per_sentence - 84.6 * self.syllables_per_word


def syllables(word: str) -> int:
    """Groups of vowels, without a silent e at the end; at least one."""
    word = word.lower()
    count = len(re.findall(r"[aeiouyàâäéèêëïîôöùûü]+", word))
    silent = re.search(r"(?:[^aeiouyl]|[aeiouy]l)(?:e|es|ed)$", word) and not re.search(
        r"[td]ed$|(?:[sxz]|ch|sh|[cg])es$", word
    )
    return max(1, count - bool(silent))


def ease(markdown: str) -> Ease:
    """Of the sentences of a page: a heading, a list item and a paragraph each end one."""
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[*+-]|\d+\.)\s)", prose(markdown))
    pieces = [
        piece
        for block in blocks
        for piece in re.split(r"(?<=[.!?:;])\s+(?=[A-Z\"'(])", " ".join(block.split()))
    ]
    sentences = [words for piece in pieces if len(words := re.findall(r"[A-Za-zÀ-ÿ][\w'’-]*", piece)) >= 3]
    words = [word for sentence in sentences for word in sentence]
    if not words:
        return Ease(0, 0.0, 0.0, 0.0)
    return Ease(
        len(words),
        len(words) / len(sentences),
        sum(map(syllables, words)) / len(words),
        sum(len(sentence) > 25 for sentence in sentences) / len(sentences),
    )


class Readme(NamedTuple):
    """Another project's README: whose it is, and its text."""

    project: str
    text: str


def readme(path: Path) -> Readme:
    """Of a file; a wheel and a source distribution carry it below the headers of their metadata."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
            return _described(wheel.read(name).decode())
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as source:
            (file,) = [file for file in source if re.fullmatch(r"[^/]+/PKG-INFO", file.name)]
            return _described(source.extractfile(file).read().decode())  # type: ignore[union-attr]
    return Readme(path.stem, path.read_text(encoding="utf-8"))


def _described(metadata: str) -> Readme:
    message = message_from_string(metadata)
    return Readme(f"{message['Name']} {message['Version']}", str(message.get_payload()))


def measured(others: Sequence[Path]) -> list[tuple[str, Ease]]:
    """Ours, by part of the pages, then other projects' READMEs."""
    docs = ROOT / "docs"
    parts = {
        "Camilla: README": [ROOT / "README.md"],
        "Camilla: get started and glossary": [docs / "start.md", docs / "glossary.md"],
        "Camilla: guides": [
            page
            for folder in (docs, docs / "guides", docs / "harnesses")
            for page in sorted(folder.glob("*.md"))
            if page.name not in ("start.md", "glossary.md", "index.md", "python.md", "json.md")
        ],
        "Camilla: commands": sorted((docs / "commands").glob("*.md")),
        "Camilla: tables and Python": [docs / "python.md", *sorted((docs / "tables").glob("*.md"))],
        "Camilla: diagnosers": sorted((docs / "diagnosers").glob("*.md")),
        "Camilla: explanation": sorted((docs / "design").glob("*.md")),
        "Camilla: results": [page for page in sorted((docs / "results").glob("*.md")) if page != PAGE],
    }
    rows = [(name, ease("\n\n".join(page.read_text() for page in paths))) for name, paths in parts.items()]
    readmes = sorted(map(readme, others), key=lambda one: one.project.lower())
    return rows + [(f"{one.project}: README", ease(one.text)) for one in readmes]


def page(others: Sequence[Path]) -> str:
    measures = measured(others)
    rows = [
        f"| {name} | {one.words:,} | {one.words_per_sentence:.1f} | {one.syllables_per_word:.2f} "
        f"| {100 * one.long_sentences:.0f} % | {one.flesch:.0f} |"
        for name, one in measures
    ]
    projects = [name.removesuffix(": README") for name, _ in measures if not name.startswith("Camilla")]
    found = sum(len(banned(text)) for text in texts())
    wanted = " ".join(project.replace(" ", "==") for project in projects)
    eases = sorted(one.flesch for name, one in measures if not name.startswith("Camilla"))
    lengths = sorted(one.words_per_sentence for name, one in measures if not name.startswith("Camilla"))
    ours = measures[0][1]
    answer = (
        f"Camilla's README has {ours.words_per_sentence:.1f} words per sentence and a reading ease of "
        f"{ours.flesch:.0f}. The\nothers have {lengths[0]:.1f} to {lengths[-1]:.1f} words per sentence and "
        f"an ease of {eases[0]:.0f} to {eases[-1]:.0f}."
    )
    return HEAD + "\n".join(rows) + TAIL.format(found=found, wanted=wanted, answer=answer)


HEAD = """# Words

How easily the pages read, compared with the READMEs of projects known for good documentation. Flesch's
(1948) reading ease is 206.835 − 1.015 × words per sentence − 84.6 × syllables per word: 60 to 70 is plain
English, 30 to 50 is difficult. Code, tables, headings, pictures and addresses are left out. Syllables are
counted by groups of vowels, so compare the figures with each other, not with those of other tools.

| text | words | words per sentence | syllables per word | sentences above 25 words | reading ease |
|---|---|---|---|---|---|
"""
TAIL = """

{answer}

Each README is the one that its package carries, as shown on PyPI. These two commands make this page; the
packages are not kept here.

```sh
pip download --no-deps --dest /tmp/readmes {wanted}
python scripts/words.py --others /tmp/readmes/*
```

Banned wordings found in README, pages, help texts, messages, docstrings and the report: {found}.
`tests/test_words.py` keeps it at 0.
"""


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument(
        "--others",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="READMEs of other projects, or packages that carry them; writes the page",
    )
    given = arguments.parse_args()
    found = [one for text in texts() for one in banned(text)]
    for one in found:
        print(f"{one.place}: {one.words!r}: {one.instead}")
    if given.others is not None:
        PAGE.write_text(page(given.others))
    sys.exit(1 if found else 0)
