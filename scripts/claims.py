"""Writes docs/design/claims.md: what Camilla claims, and the simulation that covers each claim.

    python scripts/claims.py

Claims are declared in docs/design/claims.toml. Here, the types of results are searched for what looks like a
claim: an interval, a probability, a verdict. tests/test_claims.py fails while one of them has no row.
"""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

import camilla
from camilla.schemas import schema, schema_names
from camilla.server import shapes
from camilla.server.routes import Params

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs/design/claims.md"
ROWS = PAGE.with_suffix(".toml")
NAMES = re.compile(
    r"low|high|lower|upper|ci|intervals?|se|half|critical|p|q|pvalue|probability|probabilities|chance|chances|best"
    r"|better|worse|verdict|answer|power|holds?|helps|differs|favours|passed|failed|told|apart|ties?|tied|sure"
    r"|covered|coverage|significant|flags?|contradictions|expected|misfit|infit|outfit|reasons|alarming|needed"
)
WORDS = re.compile(
    r"interval|probab|p-value|chances? |standard error|significan|false discovery|adjusted|told apart"
    r"|may have|possible rank|may be first|verdict|evidence|misfit|will (be|have)|contain"
    r"|\b(cannot be told|ties?|tied|whether|likely|expected|power|better|worse)\b",
    re.IGNORECASE,
)
MADE_OF = ("json:items", "json:diagnosis")  # whose provenance has claims; others have the same or less
PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
EACH_TOURNAMENT = "{epp,epp-tournaments.tournaments.<name>}"
ELSEWHERE = {"python": "Python", "frame": "Python", "report": "report", "page": "report", "server": "server"}
HEAD = """# Claims

Every interval, probability and verdict that a command, the report or the server gives: what it is of, and the
simulation in which it was compared with a known truth. A linked figure stands on that page. The figure of a
test is the range that the test demands. The date is when the figure last changed.

* **Covered**: a simulation or a test that simulates has compared it with the truth.
* **Covered in part**: so it was, and the *limits* say what was left out or found wanting.
* **Not covered**: nothing was simulated. The sentence says what is known, and what to use instead if there is
  something.

Fields are those of [JSON](../json.md). `{a,b}` means either, `*` any name. The file `claims.toml` beside this
page declares the rows, and `python scripts/claims.py` makes the page. `tests/test_claims.py` searches the
schemas, frames, classes, statements of the report and answers of the server for what looks like a claim. It
fails if a field has no row, a row has no field, or a figure or script is no longer there.
"""


class Field(NamedTuple):
    """A field of a result: where it is, what is written about it, and whether it looks like a claim."""

    path: str
    about: str
    asks: bool


class Cover(NamedTuple):
    """A measurement: what makes it, where its figure stands, and when that was measured."""

    by: str
    page: str
    figure: str
    date: str


class Claim(NamedTuple):
    """A row of the inventory."""

    part: str
    claim: str
    of: str
    where: tuple[str, ...]
    estimand: str
    covers: tuple[Cover, ...]
    gap: str

    @property
    def state(self) -> str:
        """What is cited without a figure does not count."""
        if not any(numbers(cover.figure) for cover in self.covers):
            return "not covered"
        return "covered in part" if self.gap else "covered"


class Exempt(NamedTuple):
    """Fields that look like claims and are none."""

    where: tuple[str, ...]
    why: str


def looks_like_a_claim(name: str, about: str) -> bool:
    """By a word of its name or of its description; rather one field too many than one too few."""
    pieces = [piece.lower() for piece in PIECES.findall(name)]
    return any(NAMES.fullmatch(piece) for piece in pieces) or bool(WORDS.search(about))


def fields() -> list[Field]:
    """Every field of a result that is known without running anything."""
    found = [*_documents(), *_statements(), *_page(), *_classes(), *_functions(), *_answers()]
    return sorted({one.path: one for one in found}.values())


def _field(path: str, about: str, *, always: bool = False) -> Field:
    return Field(path, about, always or looks_like_a_claim(path.rpartition(".")[2], about))


def _documents() -> Iterator[Field]:
    """Of the documents that commands print with --json, parts of several written out in each."""
    for name in schema_names():
        whole = schema(name)
        words = ", ".join(whole["properties"]["verdict"]["enum"])
        yield Field(f"json:{name}.verdict", words, asks=True)
        for path, part in _inside(whole, whole.get("$defs", {}), f"json:{name}"):
            if path.split(".")[1] not in ("schema", "verdict"):
                yield _field(path, part["description"], always=part.get("type") == "boolean")


def _inside(part: dict[str, Any], shared: dict[str, Any], above: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field below a part, references followed; <name> stands for each name in an object."""
    if "$ref" in part:
        part = shared[part["$ref"].rpartition("/")[2]]
    for name, field in part.get("properties", {}).items():
        if name != "provenance" or above in MADE_OF:
            yield f"{above}.{name}", field
            yield from _inside(field, shared, f"{above}.{name}")
    for inner in part.get("anyOf", []):
        yield from _inside(inner, shared, above)
    if isinstance(part.get("items"), dict):
        yield from _inside(part["items"], shared, above)
    if isinstance(part.get("additionalProperties"), dict):
        yield from _inside(part["additionalProperties"], shared, f"{above}.<name>")


def _statements() -> Iterator[Field]:
    """Of the report: every kind of statement. Parts of a kind that are put in at run time are written …"""
    for file in (ROOT / "src/camilla/show/report").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Draft":
                kinds = _texts(node.args[0])
            elif isinstance(node, ast.Assign) and _is_kind(node.targets[0]):
                kinds = _texts(node.value)
            else:
                continue
            yield from (Field(f"report:{kind}", "", asks=True) for kind in kinds)


def _is_kind(target: ast.expr) -> bool:
    first = target.elts[0] if isinstance(target, ast.Tuple) else target
    return isinstance(first, ast.Attribute) and first.attr == "kind"


def _texts(value: ast.expr) -> list[str]:
    """What an expression may be as text."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [value.value]
    if isinstance(value, ast.IfExp):
        return _texts(value.body) + _texts(value.orelse)
    if isinstance(value, ast.Tuple):
        return _texts(value.elts[0])
    if isinstance(value, ast.JoinedStr):
        return ["".join(str(one.value) if isinstance(one, ast.Constant) else "…" for one in value.values)]
    return []


def _page() -> Iterator[Field]:
    """Of the document that a report carries, as the page declares it."""
    text = (ROOT / "web/src/model.ts").read_text(encoding="utf-8")
    for name, body in re.findall(r"^export interface (\w+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        for field, rest in re.findall(r"^  (\w+)\??: (.*)$", body, re.MULTILINE):
            inner = re.findall(r"(\w+)\??:", rest.partition("//")[0])
            yield from (_field(f"page:{name}.{one}", rest) for one in inner or [field])


def _classes() -> Iterator[Field]:
    """Of classes that functions return: attributes and methods, with what their docstrings say."""
    pages = (path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs/api").glob("*.md")))
    for name in re.findall(r"autoclass:: camilla\.(\S+)", "\n".join(pages)):
        where, _, last = name.rpartition(".")
        kind = getattr(import_module(f"camilla.{where}" if where else "camilla"), last)
        about = _attributes(kind)
        members = dict(inspect.getmembers(kind)) | dict.fromkeys(about)
        for member in sorted(one for one in members if not one.startswith("_") and not hasattr(tuple, one)):
            found = members[member]
            told = (
                inspect.getdoc(found)
                if isinstance(found, (property, cached_property)) or callable(found)
                else ""
            )
            yield _field(f"python:{last}.{member}", _what_it_returns(about.get(member) or told or ""))


def _what_it_returns(text: str) -> str:
    """A docstring without its parameters, errors and example."""
    before, _, after = (
        text.partition("\nExamples\n")[0].partition("\nRaises\n")[0].partition("\nParameters\n")
    )
    return before + after.partition("\nReturns\n")[2]


def _attributes(kind: type) -> dict[str, str]:
    """What the part "Attributes" of a class's docstring says of each."""
    part = (inspect.getdoc(kind) or "").partition("\nAttributes\n")[2].partition("\nExamples\n")[0]
    return dict(re.findall(r"^(\w+) : (.*\n(?:    .*\n?)*)", part, re.MULTILINE))


def _functions() -> Iterator[Field]:
    """Of public functions that return numbers or a dataframe, not an object of a documented class."""
    for name in camilla.__all__:
        function = getattr(camilla, name)
        returned = getattr(function, "__annotations__", {}).get("return")
        if inspect.isfunction(function) and (returned is float or "DataFrame" in str(returned)):
            text = (inspect.getdoc(function) or "").partition("\nReturns\n")[2].partition("\nExamples\n")[0]
            yield Field(f"python:{name}", text, asks=True)


def _answers() -> Iterator[Field]:
    """Of what the server answers."""
    for name, kind in vars(shapes).items():
        if inspect.isclass(kind) and issubclass(kind, msgspec.Struct) and not issubclass(kind, Params):
            for field in msgspec.structs.fields(kind):
                yield _field(f"server:{name}.{field.name}", "", always=field.type is bool)


def rows() -> tuple[list[Claim], list[Exempt]]:
    """What claims.toml declares."""
    told = tomllib.loads(ROWS.read_text(encoding="utf-8"))
    claims = [
        Claim(
            one["part"],
            one["claim"],
            one["of"],
            tuple(one["where"]),
            one["estimand"],
            tuple(
                Cover(each["by"], each.get("page", each["by"]), each["figure"], str(each["date"]))
                for each in one.get("covered", [])
            ),
            one.get("gap", ""),
        )
        for one in told["claim"]
    ]
    return claims, [Exempt(tuple(one["where"]), one["why"]) for one in told["exempt"]]


def matcher(pattern: str) -> re.Pattern[str]:
    """A pattern of `where`: * is any name, ** any path, {a,b} either."""
    each = (re.escape(one).replace(r"\*\*", ".*").replace(r"\*", "[^.:]*") for one in alternatives(pattern))
    return re.compile("|".join(each))


def alternatives(pattern: str) -> list[str]:
    """The pattern with each of {a,b} written out."""
    before, brace, rest = pattern.partition("{")
    if not brace:
        return [pattern]
    choices, _, after = rest.partition("}")
    return [f"{before}{one}{end}" for one in choices.split(",") for end in alternatives(after)]


def without_a_row(found: Iterable[Field]) -> list[str]:
    """Fields that look like claims, and that no row names."""
    claims, exempt = rows()
    known = [matcher(one) for row in (*claims, *exempt) for one in row.where]
    return [one.path for one in found if one.asks and not any(each.fullmatch(one.path) for each in known)]


def without_a_field(found: Iterable[Field]) -> list[str]:
    """Patterns of rows that match no field of a result."""
    claims, exempt = rows()
    paths = [one.path for one in found]
    patterns = [each for row in (*claims, *exempt) for one in row.where for each in alternatives(one)]
    return [one for one in patterns if not any(map(matcher(one).fullmatch, paths))]


def unfounded() -> list[str]:
    """What is wrong with what rows cite: a script, a section or a number that is not there."""
    found = []
    for row in rows()[0]:
        for cover in row.covers:
            script, _, test = cover.by.partition("::")
            text = section_of(cover.page)
            if not (ROOT / script).exists() or (test and f"def {test}(" not in _text_of(script)):
                found.append(f"{row.claim}: there is no {cover.by}")
            elif text is None:
                found.append(f"{row.claim}: there is no section {cover.page}")
            else:
                lost = sorted(set(numbers(cover.figure)) - set(numbers(text)))
                found += [f"{row.claim}: {number} does not stand in {cover.page}" for number in lost]
    return found


def numbers(text: str) -> list[str]:
    """The numbers of a text as they are written, without the commas of thousands."""
    return re.findall(r"\d*\.?\d+", re.sub(r"(?<=\d),(?=\d{3})|(?<=\d)_(?=\d)", "", text))


def section_of(page: str) -> str | None:
    """A page, the section of it that # names, or the test that :: names; None if there is none."""
    name, _, test = page.partition("::")
    path, _, anchor = name.partition("#")
    if not (ROOT / path).exists():
        return None
    text = _text_of(path)
    if test:
        found = re.search(rf"^(@pytest[^\n]*(\n[^\n]+)*\n)?def {test}\(.*?(?=^\S)", text + "\n#", re.M | re.S)
        return found and found[0]
    if not anchor:
        return text
    parts = re.split(r"^(#+) (.*)$", text, flags=re.MULTILINE)
    heads = [(len(depth), _anchor(head)) for depth, head in zip(parts[1::3], parts[2::3], strict=True)]
    for at, (depth, head) in enumerate(heads):
        if head == anchor:
            end = next((k for k in range(at + 1, len(heads)) if heads[k][0] <= depth), len(heads))
            return "".join(parts[3 * k + 3] for k in range(at, end))
    return None


def _text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def page() -> str:
    """The whole page."""
    claims, exempt = rows()
    states = [row.state for row in claims]
    text = [HEAD.rstrip(), f"**{len(claims)} claims: {_counted(states)}.**"]
    parts = list(dict.fromkeys(row.part for row in claims))
    text.append(
        "\n".join(
            [
                "| part | claims | covered | in part | not covered |",
                "|---|---|---|---|---|",
                *(_counts(part, [row.state for row in claims if row.part == part]) for part in parts),
            ]
        )
    )
    for part in parts:
        text.append(f"## {part}")
        head = ["| claim | of | fields | what is claimed | covered by |", "|---|---|---|---|---|"]
        text.append("\n".join(head + [_row(row) for row in claims if row.part == part]))
    text.append("## No claims")
    text.append("These fields look like claims to the test, and are none.")
    text.append("\n".join(f"* {_fields(row.where)}: {row.why}." for row in exempt))
    return "\n\n".join(text) + "\n"


def _counted(states: list[str]) -> str:
    return ", ".join(
        f"{states.count(state)} {state}" for state in ("covered", "covered in part", "not covered")
    )


def _counts(part: str, states: list[str]) -> str:
    told = " | ".join(str(states.count(one)) for one in ("covered", "covered in part", "not covered"))
    return f"| [{part}](#{_anchor(part)}) | {len(states)} | {told} |"


def _row(row: Claim) -> str:
    told = [_cover(cover) for cover in row.covers]
    if row.gap:
        told.append(
            {"covered in part": "*Limits:* ", "not covered": "**Not covered.** "}[row.state] + row.gap
        )
    return f"| {row.claim} | {row.of} | {_fields(row.where)} | {row.estimand} | {' '.join(told)} |"


def _fields(where: tuple[str, ...]) -> str:
    """Fields of documents as they are; of the rest, where they are."""
    documents = [
        one.removeprefix("json:").replace(EACH_TOURNAMENT, "epp") for one in where if one.startswith("json:")
    ]
    others = dict.fromkeys(
        ELSEWHERE[kind] for kind, _, _ in (one.partition(":") for one in where) if kind != "json"
    )
    return ", ".join([*(f"`{one}`" for one in dict.fromkeys(documents)), *others])


def _cover(cover: Cover) -> str:
    named = f"`{cover.by.partition('::')[0]}`"
    figure = cover.figure[:1].upper() + cover.figure[1:]
    if not cover.page.startswith("docs/"):
        return f"{figure} ({named}, {cover.date})."
    link = (
        cover.page.removeprefix("docs/design/")
        if "/design/" in cover.page
        else cover.page.replace("docs/", "../", 1)
    )
    return f"[{figure}]({link}) ({named}, {cover.date})."


def _anchor(head: str) -> str:
    """How a heading is linked to."""
    return re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-")


def main() -> None:
    """Writes the page."""
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
