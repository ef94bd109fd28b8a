"""Writes docs/json.md: every field of every document that a command prints with --json, from the schemas.

python scripts/json_reference.py
"""

from pathlib import Path
from typing import Any

from camilla.schemas import schema, schema_names

PAGE = Path(__file__).parents[1] / "docs/json.md"
ANY = 6  # kinds of values that JSON has, numbers of two kinds counted once
HEAD = """# JSON

Every command with `--json` prints one JSON object on standard output. Three rules apply to all of them.

* `schema` has the name and version of the document. The version rises when a field is removed or changes its
  meaning; a new field does not raise it.
* `verdict` is the answer in one word or two. Each document lists the words it uses.
* A value that is not known is null.

The package contains a [JSON Schema](https://json-schema.org) file for each document. `camilla schema NAME`
prints one, and `camilla.schema(NAME)` returns it:

```console
$ camilla schema error
{
 "$schema": "https://json-schema.org/draft/2020-12/schema",
 "$id": "error.json",
…
```

**Errors.** A command with `--json` that fails prints the document [`error`](#error) on standard output, and
the same message on standard error. The exit code is the usual one: 1 for data, 2 for usage.

```console
$ camilla rank nothing.csv --json 2> messages.txt
{
 "schema": {
  "name": "error",
  "version": 1
 },
 "verdict": "error",
 "error": "nothing.csv: no such file. Give the path of …",
 "kind": "DataError",
 "exit_code": 1,
 "remedy": "Give the path of …"
}
```

This page is made from the schemas by `python scripts/json_reference.py`. A field marked with * is not always
present. In the path of a field, `[]` stands for each entry of an array and `.*` for each name in an object.
"""


def page() -> str:
    """The whole page; parts that several documents share come last."""
    shared: dict[str, Any] = {}
    parts = []
    for name in schema_names():
        document = schema(name)
        shared |= document.get("$defs", {})
        verdicts = ", ".join(document["properties"]["verdict"]["enum"])
        parts += [f"## {name}", f"{document['title']}. Verdict: {verdicts}.", _table(document, skipped=True)]
    parts.append("## Parts of several documents")
    for name, part in sorted(shared.items()):
        parts.append(f"### {name}")
        parts.append(part["description"])
        parts.append(_table(part) if "properties" in part else f"One of: {', '.join(part['enum'])}.")
    return "\n\n".join([HEAD.rstrip(), *parts]) + "\n"


def _table(part: dict[str, Any], *, skipped: bool = False) -> str:
    rows = [
        f"| `{path}`{'' if sure else '*'} | {_kind(field)} | {_cell(field['description'])} |"
        for path, field, sure in _fields(part)
        if not (skipped and path.split(".")[0] in ("schema", "verdict"))
    ]
    return "\n".join(["| field | is | meaning |", "|---|---|---|", *rows])


def _fields(part: dict[str, Any], above: str = "") -> list[tuple[str, dict[str, Any], bool]]:
    """Every field below a part with its path: `[]` is each of an array, `*` each of an object by name."""
    rows = []
    for name, field in part.get("properties", {}).items():
        path = f"{above}{name}"
        rows.append((path, field, name in part["required"]))
        tables = {"": field, "[]": field.get("items"), ".*": field.get("additionalProperties")}
        for end, inside in tables.items():
            if isinstance(inside, dict) and "properties" in inside:
                rows += _fields(inside, f"{path}{end}.")
        for inside in field.get("anyOf", []):
            rows += _fields(inside, f"{path}.")
    return rows


def _kind(field: dict[str, Any]) -> str:
    """The type in words, with a link where it is a shared part."""
    if "anyOf" in field:
        return " or ".join(map(_kind, field["anyOf"]))
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.replace('_', '-')})"
    if "enum" in field or "const" in field:
        return "word"
    kinds = field.get("type", "any")
    words = [kinds] if isinstance(kinds, str) else list(kinds)
    if len(words) == ANY:
        return "any"
    inner = field.get("items") if "array" in words else field.get("additionalProperties")
    of = f" of {_kind(inner)}" if isinstance(inner, dict) and "properties" not in inner else ""
    return " or ".join(words).replace("array", f"array{of}").replace("object", f"object{of}")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    print(f"written to {PAGE}")


if __name__ == "__main__":
    main()
