"""Every document that a command prints with --json is what its schema says, and every field is described."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import numpy as np
import polars as pl
import pytest
import typer

import camilla as package
import json_reference
from camilla.cli.main import app
from camilla.schemas import error_document, schema, schema_names
from command_line import camilla, undeclared

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS / "examples"
FAILING_LEARNERS = """
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression


class Unlucky(ClassifierMixin, BaseEstimator):
    def fit(self, features, target):
        raise ValueError("no luck today")


learners = {"logit": LogisticRegression(), "again": LogisticRegression(), "unlucky": Unlucky()}
"""
OWN_LEARNERS = """
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

learners = {"logit": LogisticRegression(), "bayes": GaussianNB()}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small tables of every kind, and a diagnosis and a committee made of them."""
    folder = tmp_path_factory.mktemp("documents")
    rng = np.random.default_rng(1)
    table = package.simulate(24, 40, seed=1).table
    table.write(folder / "t.csv")
    table.write(folder / "t.parquet")
    names = list(table.learners)
    known = {"sample": list(table.samples), "words": rng.integers(5, 90, 40), "page": rng.normal(size=40)}
    pl.DataFrame(known).write_csv(folder / "words.csv")
    pl.DataFrame({"learner": names, "cost": range(24)}).write_csv(folder / "costs.csv")
    pl.DataFrame({"learner": names, "group": ["x", "y"] * 12}).write_csv(folder / "groups.csv")
    known = {
        "sample": table.samples,
        "steps": np.random.default_rng(2).normal(size=40),
        "topic": ["law", "art"] * 20,
    }
    pl.DataFrame(known).write_csv(folder / "known.csv")
    judged = [
        (learner, f"s{j}", judge, int(rng.random() < 0.3 + 0.15 * place))
        for place, learner in enumerate("abcd")
        for j in range(20)
        for judge in ("j1", "j2")
    ]
    columns = ["learner", "sample", "judge", "response"]
    pl.DataFrame(judged, schema=columns, orient="row").write_csv(folder / "judged.csv")
    scores = [
        (data, f"p{p}", f"r{r}", p + rng.normal()) for data in ("x", "y") for p in range(5) for r in range(6)
    ]
    matches = pl.DataFrame(scores, schema=["data", "player", "round", "score"], orient="row")
    matches.write_csv(folder / "two.csv")
    matches.filter(pl.col("data") == "x").drop("data").write_csv(folder / "epp.csv")
    truth = rng.integers(0, 2, 200)
    classifiers = {f"c{k}": truth * k / 4 + rng.normal(size=200) for k in range(1, 7)}
    sets = {"data_set": np.repeat(["x", "y"], 100), "sample": np.arange(200), "truth": truth}
    pl.DataFrame({**sets, **classifiers}).write_csv(folder / "scores.csv")
    features = rng.normal(size=(60, 2))
    data = {"x": features[:, 0], "y": features[:, 1], "c": (features[:, 0] > 0).astype(int)}
    pl.DataFrame(data).write_csv(folder / "data.csv")
    (folder / "own.py").write_text(OWN_LEARNERS)
    (folder / "unlucky.py").write_text(FAILING_LEARNERS)
    write_clumsy_logs(folder / "logs")
    write_teams(folder)
    tried = [(f"forest_{k}", f"r{r}", k / 9 + rng.normal()) for k in range(24) for r in range(8)]
    columns = ["player", "round", "score"]
    pl.DataFrame(tried, schema=columns, orient="row").write_csv(folder / "tried.csv")
    new = pl.DataFrame({"sample": ["q1", "q2"], "steps": [0.1, 0.9], "topic": ["law", "art"]})
    new.write_csv(folder / "new.csv")
    (folder / "docs").symlink_to(DOCS)
    for line in (
        "store add-token s.db --account ann --role owner",
        "diagnose t.csv --with irt -o d",
        "ensemble t.csv --splits 2 -o best.json",
        "route t.csv --features words.csv --costs costs.csv -o route.json",
        "classifiers scores.csv --with irt -o saved",
        "diagnose t.csv --with bayes:draws=60 --features known.csv -o known",
    ):
        made = camilla(*line.split(), cwd=folder)
        assert made.returncode == 0, made.stderr
    return folder


def write_clumsy_logs(folder: Path) -> None:
    """Logs of lm-eval with everything that `load` has a word for."""
    for name in ("logistic", "ridge"):
        shutil.copytree(EXAMPLES / name, folder / name)
    for file in (EXAMPLES / "logistic").iterdir():  # the same again, later
        shutil.copy(file, folder / "logistic" / file.name.replace("09-00-00", "11-00-00"))
    results = next((folder / "ridge").glob("results*"))
    stated = json.loads(results.read_text())
    stated["results"]["digits_0_to_4"]["acc,none"] = 0.5
    results.write_text(json.dumps(stated))
    samples = next((folder / "ridge").glob("samples_digits_5*"))
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    rows[3] |= {"doc_hash": "0" * 64, "doc": {"question": "Which letter?"}, "prompt_hash": "1" * 64}
    rows = [row | {"perplexity": 12.5, "metrics": ["acc", "perplexity"]} for row in rows]
    samples.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "notes.txt").write_text("nothing of interest")
    (folder / "ridge" / "samples_broken_2026-03-01T10-00-00.000000.jsonl").write_text('{"doc_id": 0, "doc')


def write_teams(folder: Path) -> None:
    """Four teams of three members, and how they scored."""
    (folder / "teams.csv").write_text(
        "player,r1,r2,r3,r4,r5\nab,1,5,3,2,4\nbc,2,1,5,3,3\nac,3,4,1,4,5\na,4,2,2,5,1\n"
    )
    rows = [f"{team},{member}\n" for team in ("ab", "bc", "ac", "a") for member in team]
    (folder / "members.csv").write_text("team,member\n" + "".join(rows))


COMMANDS = {
    "compare docs/examples/logistic docs/examples/ridge --fail-if-worse --by task --show 1": ("compare", 3),
    "compare t.csv learner-01 learner-02": ("compare", 0),
    "rank docs/examples/logistic docs/examples/ridge --pairs --show 1": ("rank", 0),
    "rank t.csv": ("rank", 0),
    "check t.csv": ("check", 0),
    "power --difference 0.05 --discordance 0.1": ("power", 0),
    "power t.csv --samples 20": ("power", 0),
    "judges judged.csv": ("judges", 0),
    "ensemble t.csv --splits 2": ("ensemble", 0),
    "features t.csv --features known.csv": ("features", 0),
    "experiment unseen-samples t.csv --features known.csv --seeds 0 --jobs 1": ("experiment", 0),
    "route make t.csv --features words.csv --costs costs.csv": ("route", 0),
    "route apply route.json words.csv": ("route-apply", 0),
    "items t.csv": ("items", 0),
    "items t.csv --show 1": ("items", 0),
    "dif t.csv --group groups.csv": ("dif", 0),
    "select t.csv -n 10 --repeats 1": ("select", 0),
    "adapt t.csv --replay --splits 1 --shares 0.5 --calibration 0.6": ("adapt", 0),
    "curriculum d --for learner-01": ("curriculum", 0),
    "show d": ("diagnosis", 0),
    "diagnose t.csv --with vanilla -o v": ("diagnosis", 0),
    "diagnose t.parquet --with irt --dry-run -o w": ("fit-plan", 0),
    "place d t.csv": ("place", 0),
    "predict d --learner learner-01": ("predict", 0),
    "skills t.csv --number 2 -o skills.csv": ("skills", 0),
    "experiment rank-stability t.csv --with vanilla --seeds 0,1 --sizes 10 --jobs 1": ("experiment", 0),
    "experiment assumptions t.csv --with vanilla --seeds 0 --jobs 1": ("experiment", 0),
    "epp epp.csv --plan 1 --friedman --test p0 p1": ("epp", 0),
    "epp two.csv --tournament data": ("epp-tournaments", 0),
    "classifiers scores.csv --with irt": ("classifiers", 0),
    "classifiers scores.csv --among saved": ("classifiers-placed", 0),
    "load docs/examples/logistic": ("load", 0),
    "load t.csv": ("load", 0),
    "load logs --skip-damaged -o read.parquet": ("load", 0),
    "load judged.csv": ("load", 0),
    "predict known --new-samples new.csv": ("predict", 0),
    "diagnose t.csv --features known.csv --with auto -o both": ("diagnosis", 0),
    "epp teams.csv --teams members.csv": ("epp", 0),
    "epp tried.csv --search 5": ("epp", 0),
    "epp epp.csv --compat eloml-glm": ("epp", 0),
    "epp epp.csv --elo": ("epp", 0),
    "epp two.csv --tournament data --elo": ("epp-tournaments", 0),
    "pool classifiers data.csv -o unlucky --learners unlucky:learners --jobs 1": ("pool", 0),
    "pool classifiers data.csv -o pooled --learners own:learners --jobs 1": ("pool", 0),
    "store tokens s.db": ("store-tokens", 0),
    "store check s.db": ("store-check", 0),
    "compare t.csv learner-01 nobody": ("error", 1),
    "compare t.csv learner-01": ("error", 1),
    "rank t.csv --level 2": ("error", 2),
    "rank t.csv --nothing": ("error", 2),
}


@pytest.mark.parametrize("line", COMMANDS)
def test_documents_are_what_their_schema_says(line: str, folder: Path) -> None:
    name, code = COMMANDS[line]
    ran = camilla(*line.split(), "--json", cwd=folder)
    assert ran.returncode == code, ran.stderr
    document = json.loads(ran.stdout)
    assert document["schema"] == {"name": name, "version": version_of(name)}
    assert list(document)[:2] == ["schema", "verdict"]
    assert undeclared(document) == []
    if name == "error":
        assert document["error"] in ran.stderr
        assert document["exit_code"] == code


def test_the_reference_page_is_made_from_the_schemas() -> None:
    assert json_reference.PAGE.read_text(encoding="utf-8") == json_reference.page()


def version_of(name: str) -> int:
    return int(schema(name)["properties"]["schema"]["properties"]["version"]["const"])


def fields(part: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every field of a schema with its path."""
    if not isinstance(part, dict):
        return
    for name, field in part.get("properties", {}).items():
        yield f"{path}.{name}", field
        yield from fields(field, f"{path}.{name}")
    for key in ("items", "additionalProperties"):
        yield from fields(part.get(key), path)
    for name, one in part.get("$defs", {}).items():
        yield from fields(one, f"{path}#{name}")


@pytest.mark.parametrize("name", schema_names())
def test_every_field_is_described_and_no_other_is_allowed(name: str) -> None:
    whole = schema(name)
    jsonschema_rs.meta.validate(whole)
    described = {path: field.get("description", "") for path, field in fields(whole)}
    assert [path for path, text in described.items() if not re.fullmatch(r"\w.*[.]", text)] == []
    assert whole["additionalProperties"] is False
    assert {"schema", "verdict"} <= set(whole["required"])
    assert set(whole["properties"]["verdict"]["enum"])


def unnamed(part: Any, path: str = "") -> Iterator[str]:
    """Where a schema lets a table in without saying what is in it: no type, no items, or any field."""
    if not isinstance(part, dict):
        return
    kinds = part.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not kinds and not part.keys() & {"$ref", "anyOf", "enum", "const"}:
        yield f"{path}: no type"
    if "array" in kinds and "object" not in kinds and "items" not in part:
        yield f"{path}: an array of anything"
    if "properties" in part and part.get("additionalProperties") is not False and path not in BY_SKILL:
        yield f"{path}: other fields are allowed"
    if kinds in (["object"], ["object", "null"]) and not part.keys() & {"properties", "additionalProperties"}:
        yield f"{path}: an object of anything"
    inside = {f"{path}.{name}": field for name, field in part.get("properties", {}).items()}
    inside |= {f"{path}#{name}": field for name, field in part.get("$defs", {}).items()}
    inside |= {f"{path}|{at}": field for at, field in enumerate(part.get("anyOf", []))}
    inside |= {f"{path}[]": part.get("items"), f"{path}.*": part.get("additionalProperties")}
    for below, field in inside.items():
        yield from unnamed(field, below)


BY_SKILL = {".leaderboard[]"}  # of classifiers: four further columns for each skill, called after it


@pytest.mark.parametrize("name", schema_names())
def test_every_inner_table_is_declared_field_by_field(name: str) -> None:
    assert list(unnamed(schema(name))) == []


@pytest.mark.parametrize(
    ("part", "where"),
    [
        ({"type": "object"}, ": an object of anything"),
        ({"type": ["object", "null"]}, ": an object of anything"),
        ({"type": "object", "properties": {"a": {"type": "array"}}, "additionalProperties": False},
         ".a: an array of anything"),
        ({"type": "array", "items": {"description": "A row."}}, "[]: no type"),
        ({"type": "object", "properties": {}}, ": other fields are allowed"),
        ({"$defs": {"row": {"type": "object"}}, "$ref": "#/$defs/row"}, "#row: an object of anything"),
    ],
)  # fmt: skip
def test_tables_that_are_only_described_are_found(part: dict[str, Any], where: str) -> None:
    assert list(unnamed(part)) == [where]


def test_every_command_with_json_has_its_documents_checked() -> None:
    """submit needs a server; tests of the server check what it answers."""
    group = typer.main.get_command(app)
    printing = set()
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        parts = {f"{name} {part}": one for part, one in getattr(command, "commands", {}).items()}
        for called, one in (parts or {name: command}).items():
            if any("--json" in parameter.opts for parameter in one.params):
                printing.add(called)
    checked = {called for called in printing for line in COMMANDS if line.startswith(f"{called} ")}
    untested = {
        name for name in printing - checked if not name.startswith("pool ")
    }  # all pools print the same
    assert untested == {"submit"}
    documents = {name for name, _ in COMMANDS.values()}
    assert set(schema_names()) - documents == {"submit", "ensemble-answers"}


def test_the_answers_of_a_committee_are_a_document(tmp_path: Path) -> None:
    """Their votes need answers, not only right and wrong."""
    rows = [
        (f"m{k}", f"s{j}", "ab"[(j + (k == j % 5)) % 2], "ab"[j % 2]) for k in range(5) for j in range(40)
    ]
    frame = pl.DataFrame(rows, schema=["learner", "sample", "answer", "key"], orient="row")
    frame = frame.with_columns(response=(pl.col("answer") == pl.col("key")).cast(pl.Int8))
    frame.write_csv(tmp_path / "answers.csv")
    made = camilla(*["ensemble", "answers.csv", "--splits", "2", "-o", "best.json"], cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    ran = camilla(*["ensemble", "answers.csv", "--apply", "best.json", "--json"], cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert (document["schema"]["name"], undeclared(document)) == ("ensemble-answers", [])


def test_a_default_of_json_makes_errors_json_too(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.camilla]\njson = true\n")
    ran = camilla("rank", "missing.csv", cwd=tmp_path)
    assert (ran.returncode, json.loads(ran.stdout)["kind"]) == (1, "DataError")


def test_without_json_standard_output_stays_empty(tmp_path: Path) -> None:
    ran = camilla("rank", "missing.csv", cwd=tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")


def test_a_schema_is_printed_and_all_are_listed(tmp_path: Path) -> None:
    assert json.loads(camilla("schema", "compare", cwd=tmp_path).stdout) == package.schema("compare")
    listed = camilla("schema", cwd=tmp_path).stdout.splitlines()
    assert [line.partition(":")[0] for line in listed] == schema_names()
    assert camilla("schema", "compere", cwd=tmp_path).stderr.startswith(
        "error: no document is called 'compere'"
    )


@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        ("a.csv: no such file. Give the path of a table.", "Give the path of a table."),
        ("no learner 'x' in the table. Did you mean 'y'?", "Did you mean 'y'?"),
        ("out of memory.", None),
        ("b.csv: line 3 has 2 columns, 4 were wanted.", None),
    ],
)
def test_the_remedy_is_the_last_sentence_if_it_says_what_to_do(message: str, remedy: str | None) -> None:
    assert error_document("DataError", message, 1) == {
        "verdict": "error", "error": message, "kind": "DataError", "exit_code": 1, "remedy": remedy,
    }  # fmt: skip


Check = Callable[[dict[str, Any]], bool]


@pytest.mark.parametrize(
    "damage",
    [
        lambda document: document.pop("overall"),
        lambda document: document.update(more=1),
        lambda document: document["overall"].update(p_value="small"),
        lambda document: document.update(verdict="fine"),
        lambda document: document["provenance"].update(mood="good"),
    ],
)
def test_a_damaged_document_is_refused(damage: Check, folder: Path) -> None:
    """The schemas do refuse: a missing field, one more, a wrong type, an unknown word."""
    ran = camilla("compare", "t.csv", "learner-01", "learner-02", "--json", cwd=folder)
    document = json.loads(ran.stdout)
    validator = jsonschema_rs.validator_for(schema("compare"))
    assert validator.is_valid(document)
    damage(document)
    assert not validator.is_valid(document)
