"""Skill graphs: what they accept, what they refuse, and how a table keeps them."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import camilla
from camilla.errors import DataError
from camilla.reading.skills import read_skill_graph
from camilla.table.responses import ResponseTable
from camilla.table.skills import SkillGraph, SkillMap, topological

EDGES = (("C0", "BC"), ("C1", "BC"), ("C0", "S0"), ("S0", "EQ"))


def table() -> ResponseTable:
    rng = np.random.default_rng(0)
    skills = SkillMap(("BC", "C0", "C1", "EQ", "S0", "alone"), np.eye(6, dtype=bool))
    return ResponseTable.from_matrix(rng.integers(0, 2, (4, 6)).astype(float)).with_skills(
        skills, graph=SkillGraph(EDGES)
    )


def test_parents_come_before_children_whatever_the_order_of_edges() -> None:
    graph = SkillGraph(EDGES[::-1])
    assert graph == SkillGraph(EDGES)
    place = {skill: i for i, skill in enumerate(graph.order)}
    assert all(place[parent] < place[child] for parent, child in EDGES)
    assert graph.parents("BC") == ("C0", "C1")
    assert graph.parents("C0") == ()


def test_indices_follow_the_skill_map_and_unnamed_skills_are_roots() -> None:
    given = table()
    assert given.skill_graph is not None
    assert given.skill_map is not None
    edges = given.skill_graph.among(given.skill_map.skills)
    assert edges == ((1, 0), (2, 0), (4, 3), (1, 4))
    order = topological(6, edges)
    assert sorted(order) == list(range(6))
    assert all(order.index(parent) < order.index(child) for parent, child in edges)


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ((("a", "b"), ("b", "c"), ("c", "a")), "cycle.*'a' → .*'a'|'b' → .*'b'|'c' → .*'c'"),
        ((("a", "a"),), "'a' → 'a'"),
        ((("a", "b"), ("a", "b")), "a → b.*twice"),
        ((("a", ""),), "empty name"),
    ],
)
def test_a_graph_that_cannot_be_is_refused(edges: tuple[tuple[str, str], ...], said: str) -> None:
    with pytest.raises(DataError, match=said):
        SkillGraph(edges)


def test_a_graph_needs_the_skills_of_a_map() -> None:
    with pytest.raises(DataError, match=r"names 'C2', which.*There are 'BC'"):
        table().with_skills(table().skill_map, graph=SkillGraph((("C2", "BC"),)))
    with pytest.raises(DataError, match=r"the table has none\. Give one with --skills"):
        table().with_skills(None, graph=SkillGraph(EDGES))


def test_a_table_keeps_its_graph_and_the_digest_sees_it() -> None:
    given = table()
    assert given.take_samples([2, 0]).take_learners([1]).canonical().table.skill_graph == given.skill_graph
    without = given.with_skills(given.skill_map)
    fewer = given.with_skills(given.skill_map, graph=SkillGraph(EDGES[:2]))
    turned = given.with_skills(given.skill_map, graph=SkillGraph(EDGES[::-1]))
    assert len({given.digest(), without.digest(), fewer.digest()}) == 3
    assert turned.digest() == given.digest()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "objects", "pairs"])
def test_a_graph_is_read_back_from_every_kind_of_file(ending: str, tmp_path: Path) -> None:
    graph = SkillGraph(EDGES)
    path = tmp_path / f"edges.{ending if ending in ('csv', 'jsonl') else 'json'}"
    rows = [{"parent": parent, "child": child} for parent, child in EDGES]
    if ending == "csv":
        graph.to_frame().write_csv(path)
    elif ending == "jsonl":
        path.write_text("\n".join(json.dumps(row) for row in rows))
    else:
        path.write_text(json.dumps(rows if ending == "objects" else EDGES))
    assert read_skill_graph(path) == graph
    assert SkillGraph.from_table(pd.DataFrame(rows)) == graph


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "from,to\na,b\n", r"a.csv: no column 'parent'"),
        ("a.csv", "parent,child\na,\n", r"line 2, column 'child' has no name"),
        ("a.csv", "parent,child\na,b\nb,a\n", r"a.csv: a skill graph has no cycles"),
        ("a.json", "{", r"a.json: is not JSON"),
        ("a.json", "[]", r"a list of edges"),
        ("a.json", '[["a", "b"], ["a"]]', r"edge 1 is \[\"a\"\]"),
        ("a.json", None, r"a.json: cannot be read"),
    ],
)
def test_a_file_that_is_no_graph_says_where(name: str, text: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(DataError, match=said):
        read_skill_graph(path)


def test_read_takes_map_and_graph(tmp_path: Path) -> None:
    table().write(tmp_path / "runs.csv")
    given = table()
    assert given.skill_map is not None
    given.skill_map.to_frame(given.samples).write_csv(tmp_path / "skills.csv")
    SkillGraph(EDGES).to_frame().write_csv(tmp_path / "edges.csv")
    again = camilla.read(
        tmp_path / "runs.csv", skills=tmp_path / "skills.csv", skill_graph=tmp_path / "edges.csv"
    )
    assert again.digest() == given.digest()
