"""`help` is enough: each public name says what it takes and returns, and has an example that runs."""

import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.display import Excerpt, Grid
from camilla.reading.inputs import ReadOptions
from test_docs import ToTheirDigits

HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
ASSUMED = {"camilla": camilla, "np": np, "pl": pl}  # imported in every example, as docs/api/index.md says


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


def classes_in(annotation: Any, module: Any) -> Iterator[type]:
    """Camilla's classes in the type of a result, also those inside a list, a union or quotation marks."""
    if isinstance(annotation, str):
        for word in re.findall(r"\w+", annotation):
            yield from classes_in(vars(module).get(word), module)
    elif get_args(annotation):
        for part in get_args(annotation):
            yield from classes_in(part, module)
    elif inspect.isclass(annotation) and annotation.__module__.startswith("camilla."):
        yield annotation


def returned_by(items: list[Documented]) -> set[type]:
    """The classes of what public functions and methods return; parts of a text are for printing alone."""
    functions = [one.item for one in items if inspect.isfunction(one.item)]
    found = {
        kind
        for function in functions
        for kind in classes_in(function.__annotations__.get("return"), inspect.getmodule(function))
    }
    return found - {Grid, Excerpt}


EVERY = {name: documented(name) for name in camilla.__all__}
PUBLIC = {one.item for items in EVERY.values() for one in items if inspect.isclass(one.item)}
RETURNED = sorted(
    returned_by([one for items in EVERY.values() for one in items]) - PUBLIC, key=lambda kind: kind.__name__
)
EVERY |= {kind.__name__: list(of_class(kind.__name__, kind)) for kind in RETURNED}
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
    kinds = {kind.__name__: kind for kind in [*PUBLIC, *RETURNED]}
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


def test_classes_that_are_only_returned_are_looked_at_too() -> None:
    names = {kind.__name__ for kind in RETURNED}
    assert {"Comparison", "Ranking", "Plan", "SampleQuality", "Routing", "TestState", "Standing"} <= names
    assert {"Gate.to_document", "Comparison.gate"} & {one.name for one in ALL} == {"Comparison.gate"}


def test_every_returned_class_is_on_the_page_of_results() -> None:
    page = (Path(__file__).parents[1] / "docs/api/results.md").read_text(encoding="utf-8")
    named = re.findall(r"^\.\. autoclass:: (\S+)$", page, re.MULTILINE)
    assert sorted(named) == sorted(f"{kind.__module__}.{kind.__name__}" for kind in RETURNED)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("table, a : str\n    One.\nb : int\n    Two.", {"table", "a", "b"}),
        ("*sources\n    Files.\n**options\n    As there.", {"*sources", "**options"}),
    ],
)
def test_arguments_are_found_in_a_section(text: str, named: set[str]) -> None:
    assert named_in(text) == named
