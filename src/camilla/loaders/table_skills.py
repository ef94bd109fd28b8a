"""Skill maps that tables bring along when they are loaded."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from camilla.data.names import quoted
from camilla.data.responses import ResponseTable
from camilla.data.skill_graph import SkillGraph
from camilla.data.skills import SkillMap
from camilla.loaders.runs import Run


class WithSkills(NamedTuple):
    """The table with the skills of its files, or as it was and why."""

    table: ResponseTable
    why_not: str = ""


def with_table_skills(table: ResponseTable, runs: Sequence[Run]) -> WithSkills:
    """The skill maps of all files as one, if they give each sample the same skills and none is without."""
    parts = list({id(run.skills): run.skills for run in runs if run.skills is not None}.values())
    if not parts:
        return WithSkills(table)
    skills = tuple(dict.fromkeys(skill for part in parts for skill in part.skill_map.skills))
    mask = np.zeros((table.n_samples, len(skills)), np.bool_)
    place = {name: row for row, name in enumerate(table.samples)}
    for part in parts:
        known = np.array([place.get(name, -1) for name in part.samples])
        rows = known[known >= 0]
        needed = np.zeros((len(rows), len(skills)), np.bool_)
        needed[:, [skills.index(skill) for skill in part.skill_map.skills]] = part.skill_map.mask[known >= 0]
        differs = mask[rows].any(axis=1) & (mask[rows] != needed).any(axis=1)
        if differs.any():
            names = [table.samples[row] for row in rows[differs]]
            why = f"{len(names)} samples need others in one file than in another, {quoted(names)}"
            return WithSkills(table, why)
        mask[rows] = needed
    if idle := [table.samples[row] for row in np.flatnonzero(~mask.any(axis=1))]:
        return WithSkills(table, f"no file gives any to {len(idle)} samples, {quoted(idle)}")
    edges = dict.fromkeys(
        edge for part in parts if part.skill_graph is not None for edge in part.skill_graph.edges
    )
    graph = SkillGraph(tuple(edges)) if edges else None
    return WithSkills(table.with_skills(SkillMap(skills, mask), graph=graph))
