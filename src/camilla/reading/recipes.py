"""A recipe: where in a file of any layout the learner, the sample, the response and the rest are.

`learner=model.name,sample=results[].id,response=results[].score,scale=1:10`. A path starts at a record: a
line of JSON lines, a row of a table, an entry of a JSON array, or a whole JSON document.

    a.b           the value of key b in the value of key a; a["b.c"] where a key has other signs than letters
    a[2]          the third entry of a list (the first is 0)
    a[]           each entry of a list; a.* each value of an object
    a.{key}       the key under which each value of an object is; a[{row}] the number of each entry, from 1
    {row}         the number of the innermost entry; of a record, if there are no lists
    {file}        the name of the file without its ending; {folder} that of its folder
    'gpt-4'       the text itself, which may hold {file}, {folder} and {row}
    a+b           several of these as one name, with / between them

The n-th [] or * of every path runs along with the n-th of the response.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from camilla.errors import SettingError
from camilla.names import in_quotes, nearest
from camilla.table.columns import PLAIN, Scale, scale_of

NEEDED = ("learner", "sample", "response")
ROLES = (*NEEDED, "trial", "task", "cluster", "weight", "key", "answer", "prompt", "reference")
WORDS = ("right", "wrong", "missing")
SETTINGS = (*WORDS, "scale", "lower-is-better")
TRUTH = {"true": True, "yes": True, "1": True, "": True, "false": False, "no": False, "0": False}
BESIDE = ("learner", "sample", "response", "trial", "task", "weight", "answer", "missing", "scale")
PLACES = ("{file}", "{folder}", "{row}")

STEP = re.compile(
    r"""(?P<each>\[\])|(?P<row_of>\[\{row\}\])|\[(?P<index>-?\d{1,9})\]|\["(?P<quoted>(?:[^"\\]|\\.)*)"\]"""
    r"""|\.?(?P<values>\*)|\.?(?P<key_of>\{key\})|\.?(?P<key>[^][.*{}"',=+]+)""",
    re.DOTALL,
)
BRACKETS = r"""\["(?:[^"\\]|\\.)*"\]|\[[^]]*\]"""
MOST_STAGES = 20
PLAIN_KEY = re.compile(r"""[^][.*{}"',=|+]+""")
PARTS = re.compile(rf"""(?:{BRACKETS}|'[^']*'|"[^"]*"|[^+])+""", re.DOTALL)
ENTRIES = re.compile(rf"""(?:{BRACKETS}|'[^']*'|"[^"]*"|[^,'"[]|['"[])+""", re.DOTALL)

Step = str | int  # a key of an object, or the place of an entry in a list
Gives = Literal["value", "key", "row"]
GOES_THROUGH: dict[str, Gives] = {"each": "value", "values": "value", "row_of": "row", "key_of": "key"}


class Stage(NamedTuple):
    """The way to a list or an object of which every entry is gone through."""

    steps: tuple[Step, ...]
    kind: Literal["list", "object"]


class Field(NamedTuple):
    """Where a role is: stages, the way from the last entry on, and what is taken there; or a text."""

    text: str  # as the recipe writes it
    stages: tuple[Stage, ...] = ()
    tail: tuple[Step, ...] = ()
    gives: Gives = "value"
    constant: str | None = None  # may hold {file}, {folder} and {row}
    parts: "tuple[Field, ...]" = ()  # of a name that is put together


def field_of(text: str) -> Field:
    """A path, a placeholder or a quoted text as a field."""
    text = text.strip()
    if len(parts := PARTS.findall(text)) > 1:
        fields = tuple(map(field_of, parts))
        return Field(text, max((field.stages for field in fields), key=len), parts=fields)
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return Field(text, constant=text[1:-1])
    if text in PLACES:
        return Field(text, constant=text)
    stages: list[Stage] = []
    steps: list[Step] = []
    gives: Gives = "value"
    for kind, step in _steps(text):
        if gives != "value":
            raise _no_path(text, text.index("{"))
        if kind in GOES_THROUGH:
            stages.append(Stage(tuple(steps), "list" if kind in ("each", "row_of") else "object"))
            steps.clear()
            gives = GOES_THROUGH[kind]
        else:
            steps.append(step)
    if len(stages) > MOST_STAGES:
        raise SettingError(f"map: {in_quotes(text)} has more than {MOST_STAGES} [] and *.")
    return Field(text, tuple(stages), tuple(steps), gives)


def _steps(text: str) -> Iterator[tuple[str, Step]]:
    """The parts of a path: what kind each is of, and its key or number."""
    at = 0
    while at < len(text) or not text:
        step = STEP.match(text, at)
        if step is None or (step[0][0] == "." if at == 0 else step[0][0] not in ".["):
            raise _no_path(text, at)
        at = step.end()
        kind = str(step.lastgroup)
        if kind == "index":
            yield kind, int(step[kind])
        else:
            yield kind, re.sub(r"(?s)\\(.)", r"\1", step[kind]) if kind == "quoted" else step[kind].strip()


def _no_path(text: str, at: int) -> SettingError:
    return SettingError(
        f"map: {in_quotes(text)} is not a path (character {at + 1}). A path is like model.name, "
        'results[].score, items.*.score, items.{key} or a["b.c"]; {file} and {folder} name the file, and '
        "'text' is itself."
    )


def step_text(step: Step) -> str:
    """A key as a path writes it, with the point before it; an entry of a list in brackets."""
    if isinstance(step, int):
        return f"[{step}]"
    if PLAIN_KEY.fullmatch(step) and step == step.strip():
        return f".{step}"
    escaped = step.replace("\\", "\\\\").replace('"', '\\"')
    return f'["{escaped}"]'


@dataclass(frozen=True)
class Recipe:
    """Fields by role, words that are right, wrong or missing, and the scale of the responses."""

    fields: Mapping[str, Field]
    right: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    scale: Scale = PLAIN

    def __post_init__(self) -> None:
        for role in NEEDED:
            if role not in self.fields:
                raise SettingError(
                    f"map: says nothing about the {role}. A recipe names at least learner, sample and "
                    "response: learner=model,sample=id,response=score; for a name that is not in the file, "
                    f"write learner={{file}}, learner={{folder}}, learner='gpt-4' or sample={{row}}."
                )
        response = self.fields["response"]
        if response.constant is not None or response.parts or response.gives != "value":
            raise SettingError(f"map: response={response.text} is not a path to values of the file.")
        for role, field in self.fields.items():
            for part in field.parts or (field,):
                self._check_depth(role, part, response)
        if both := {word.casefold() for word in self.right} & {word.casefold() for word in self.wrong}:
            raise SettingError(f"map: {in_quotes(sorted(both)[0])} cannot be right and wrong.")

    def _check_depth(self, role: str, field: Field, response: Field) -> None:
        kinds = [stage.kind for stage in field.stages]
        if kinds != [stage.kind for stage in response.stages][: len(kinds)]:
            raise SettingError(
                f"map: {role}={field.text} does not match response={response.text}: the n-th [] or * of "
                "every path belongs to the n-th of the response, and none may have more of them."
            )

    @property
    def text(self) -> str:
        """The recipe as `--map` takes it."""
        parts = [f"{role}={self.fields[role].text}" for role in ROLES if role in self.fields]
        parts += [f"{name}={'|'.join(words)}" for name in WORDS if (words := getattr(self, name))]
        if (self.scale.low, self.scale.high) != PLAIN[:2]:
            parts.append(f"scale={self.scale.low:g}:{self.scale.high:g}")
        return ",".join([*parts, *(["lower-is-better"] if self.scale.lower_is_better else [])])


def recipe_of(given: Any, more: Mapping[str, Any] | None = None) -> Recipe:
    """A recipe from a text, a dictionary, or the path of a TOML file; `more` are settings beside it."""
    if isinstance(given, Recipe):
        return given
    if isinstance(given, Mapping):
        entries = {str(name): value for name, value in given.items()}
    elif isinstance(given, Path) or str(given).strip().lower().endswith(".toml"):
        entries = _toml(Path(given))
    elif isinstance(given, str):
        entries = _entries(given)
    else:
        raise SettingError(
            f"map is a text, a dictionary or the path of a TOML file, not {type(given).__name__}."
        )
    for name, value in (more or {}).items():
        if name in entries and name != "missing":
            raise SettingError(f"map: {name} is given twice, in the recipe and as an option. Leave one out.")
        entries[name] = [*_words(entries[name]), *_words(value)] if name in entries else value
    return _recipe(entries)


def recipe_given(given: Mapping[str, Any]) -> Recipe:
    """The recipe, with roles and settings that are named beside it."""
    if idle := [name for name in ("rows", "ignore", "format", "metric", "filter") if name in given]:
        raise SettingError(f"--{idle[0]} does nothing with a recipe (--map), which says where everything is.")
    more = {name: given[name] for name in BESIDE if name in given}
    if "percent" in given and "scale" in given:
        raise SettingError(
            "percent is the scale 0:100; give percent (--percent) or scale (--scale), not both."
        )
    if "percent" in given:
        more["scale"] = "0:100"
    if "lower_is_better" in given:
        more["lower-is-better"] = True
    return recipe_of(given["map"], more)


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        raise SettingError(f"{path}: the recipe cannot be read: {error.strerror or error}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingError(
            f'{path}: is not a recipe in TOML: {error}. Write lines such as learner = "model".'
        ) from error


def _entries(text: str) -> dict[str, Any]:
    """name=value, separated by commas that stand neither in quotes nor in brackets."""
    entries: dict[str, Any] = {}
    for part in filter(str.strip, ENTRIES.findall(text)):
        name, found, value = part.partition("=")
        name = name.strip().replace("_", "-") if name.strip().startswith("lower") else name.strip()
        if not found and name != "lower-is-better":
            raise SettingError(
                f"map: {in_quotes(part.strip())} is not a role=path. A recipe is "
                "learner=model,sample=id,response=score, or the path of a .toml file."
            )
        if name in entries:
            raise SettingError(f"map: {name} is given twice. Leave one out.")
        entries[name] = value.strip()
    return entries


def _recipe(entries: Mapping[str, Any]) -> Recipe:
    known = [*ROLES, *SETTINGS]
    if unknown := [name for name in entries if name.replace("_", "-") not in known]:
        raise SettingError(
            f"map: nothing is called {in_quotes(unknown[0])}. {nearest(unknown[0], known)} "
            f"Roles are {', '.join(ROLES)}; settings are {', '.join(SETTINGS)}."
        )
    for role in ROLES:
        if role in entries and not isinstance(entries[role], str):
            raise SettingError(f"map: {role} is {in_quotes(entries[role])}; expected a path as text.")
    words = {name: _words(entries[name]) for name in WORDS if name in entries}
    scale = scale_of(entries["scale"]) if entries.get("scale") is not None else PLAIN
    lower = entries.get("lower-is-better", entries.get("lower_is_better", False))
    scale = scale._replace(lower_is_better=_truth(lower))
    return Recipe({role: field_of(entries[role]) for role in ROLES if role in entries}, **words, scale=scale)


def _words(value: Any) -> tuple[str, ...]:
    """One word, a|b, or a list of words."""
    if isinstance(value, str):
        return tuple(word.strip().strip("'\"") for word in value.split("|"))
    if isinstance(value, list | tuple) and all(isinstance(word, str) for word in value):
        return tuple(value)
    raise SettingError(f"map: {in_quotes(value)} is not a word; words are a|b, or a list of texts.")


def _truth(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if (found := TRUTH.get(str(value).strip().lower())) is None:
        raise SettingError(f"map: lower-is-better is true or false, not {in_quotes(value)}.")
    return found
