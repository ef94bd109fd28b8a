"""Words that a shell proposes: choices, names of diagnosers, names in a saved diagnosis."""

import os
import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

import typer

Completer = Callable[[typer.Context, str], list[str]]
SPECIAL = re.compile(r"[^\w.,:=@%+/-]")  # what a shell would act on
# Written out, because loading the diagnosers takes longer than a person waits for a word.
DIAGNOSERS = (
    "auto",
    "bayes",
    "camilla",
    "camilla-base",
    "dina",
    "gaussian",
    "hier-mirt",
    "hier-ncd",
    "irt",
    "ka-ncd",
    "mf",
    "mirt",
    "neural-cd",
    "qc-cdm",
    "skill-vanilla",
    "vanilla",
)
LARGEST = 20_000_000  # bytes of a diagnosis.json that is read while somebody waits for a word


def one_of(*choices: str) -> Completer:
    """Proposes the choices."""

    def propose(context: typer.Context, incomplete: str) -> list[str]:
        return _matching(choices, incomplete)

    return propose


def diagnosers(context: typer.Context, incomplete: str) -> list[str]:
    """Proposes diagnosers, also behind a comma where several can be named."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in DIAGNOSERS if name.startswith(last)]


def names_of(kind: str) -> Completer:
    """Proposes learners, samples or skills of the diagnosis that the line names."""

    def propose(context: typer.Context, incomplete: str) -> list[str]:
        folders = (Path(word).expanduser() for word in _words() if word)
        names = next((names for folder in folders if (names := _saved_names(folder, kind))), [])
        return _matching(names, incomplete)

    return propose


def _words() -> list[str]:
    """The words of the line so far: Bash hands them over in one variable, Zsh and Fish in another.

    What Click has parsed of them is no help: behind an option that still lacks its value there is nothing.
    """
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    try:
        return shlex.split(line)
    except ValueError:  # a quote that is still open
        return line.split()


def _saved_names(folder: Path, kind: str) -> list[str]:
    import json

    file = folder / "diagnosis.json"
    try:
        if file.stat().st_size > LARGEST:
            return []
        document = file.read_text(encoding="utf-8").partition("\n")[2]  # after the line with its hash
        names = json.loads(document).get(kind)
    except (OSError, ValueError, AttributeError):
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _matching(words: Iterable[str], incomplete: str) -> list[str]:
    """The words that begin so; escaped for Bash, which would take a name with a space for two words."""
    found = [word for word in words if word.startswith(incomplete) and word.isprintable()]
    in_bash = os.environ.get("_CAMILLA_COMPLETE", "").endswith("bash")
    return [SPECIAL.sub(r"\\\g<0>", word) for word in found] if in_bash else found
