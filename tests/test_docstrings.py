"""`help` is enough: each public name says what it takes and returns, and has an example that runs."""

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.reading.inputs import ReadOptions
from test_docs import ToTheirDigits

HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
ASSUMED = {"camilla": camilla, "np": np, "pl": pl}  # imported in every example, as docs/reference/api.md says


class Documented(NamedTuple):
    """A public name, or a method of a public class, with what its docstring has to say."""

    name: str
    item: Any
    arguments: tuple[str, ...]
    returns: bool

    @property
    def sections(self) -> dict[str, str]:
        """The text below each heading; what comes first is below the empty one."""
        parts = HEADING.split(inspect.getdoc(self.item) or "")
        return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def of_function(name: str, function: Callable[..., Any]) -> Documented:
    signature = inspect.signature(function)
    arguments = [
        {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(one.kind, "") + label
        for label, one in signature.parameters.items()
        if label not in ("self", "cls")
    ]
    if function is camilla.read:  # whose options the other functions refer to
        arguments = [arguments[0], *ReadOptions.__annotations__]
    nothing = signature.return_annotation in (None, "None")
    return Documented(name, function, tuple(arguments), not nothing)


def of_class(name: str, kind: type) -> Iterator[Documented]:
    """The class and its public methods, also those that it inherits from Camilla's own classes."""
    raised = issubclass(kind, BaseException)
    fields = () if raised else tuple(inspect.signature(kind).parameters)
    yield Documented(name, kind, fields, returns=False)
    for label, value in inspect.getmembers_static(kind):
        method = getattr(value, "__func__", value)
        if not label.startswith("_") and inspect.isfunction(method):
            yield of_function(f"{name}.{label}", method)


def documented(name: str) -> list[Documented]:
    item = getattr(camilla, name)
    return list(of_class(name, item)) if inspect.isclass(item) else [of_function(name, item)]


EVERY = {name: documented(name) for name in camilla.__all__}
ALL = [one for items in EVERY.values() for one in items]


def named_in(text: str) -> set[str]:
    """The arguments that a section describes: the words before ` : ` of lines that are not indented."""
    heads = [line.split(" : ")[0] for line in text.split("\n") if line and not line.startswith(" ")]
    return {name.strip() for head in heads for name in head.split(",")}


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_every_argument_and_result_is_described(one: Documented) -> None:
    described = named_in(one.sections.get("Parameters", "")) | named_in(one.sections.get("Attributes", ""))
    assert [name for name in one.arguments if name not in described] == []
    assert described <= set(one.arguments), "describes what is not there"
    assert ("Returns" in one.sections) >= one.returns


@pytest.mark.parametrize("one", ALL, ids=lambda one: one.name)
def test_the_first_line_is_a_sentence_on_its_own(one: Documented) -> None:
    first, *rest = one.sections[""].strip().split("\n")
    assert first.endswith("."), first
    assert rest[:1] in ([], [""]), "an empty line was wanted below the first"


def test_every_property_of_a_public_class_has_a_docstring() -> None:
    kinds = {
        name: getattr(camilla, name) for name in camilla.__all__ if inspect.isclass(getattr(camilla, name))
    }
    bare = [
        f"{name}.{label}"
        for name, kind in kinds.items()
        for label, value in inspect.getmembers_static(kind)
        if not label.startswith("_") and "property" in type(value).__name__ and not value.__doc__
    ]
    assert bare == []


@pytest.mark.parametrize("name", EVERY)
def test_every_docstring_has_an_example_and_all_of_them_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers are compared to the digits that the docstring shows."""
    monkeypatch.chdir(tmp_path)
    parser, said = doctest.DocTestParser(), list[str]()
    runner = doctest.DocTestRunner(ToTheirDigits(), optionflags=doctest.ELLIPSIS)
    for one in EVERY[name]:
        example = parser.get_doctest(one.sections.get("Examples", ""), dict(ASSUMED), one.name, None, 0)
        assert example.examples, f"{one.name} has no example"
        runner.run(example, out=said.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(said)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("table, a : str\n    One.\nb : int\n    Two.", {"table", "a", "b"}),
        ("*sources\n    Files.\n**options\n    As there.", {"*sources", "**options"}),
    ],
)
def test_arguments_are_found_in_a_section(text: str, named: set[str]) -> None:
    assert named_in(text) == named
