"""The same sample name in several files or tasks: one benchmark, or several that are told apart.

Formats whose sample names do not hold their task (tables, py-irt, SWE-bench) may use 1, 2, 3, … in every
file. A source is a task that was named, or a file in which none was. Sources that share sample names are
joined if they can be one benchmark: at most one task was named, and no learner has the same sample in two of
them. Otherwise each keeps its own samples, called task/name or file/name; they are never joined.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from camilla.reading.runs import Collection, Kept, Namesakes, Run, TaskSource, source_of

MOST_NAMES = 3


class Renaming(NamedTuple):
    """What a source's task is called now, and what goes before its samples' names."""

    task: str
    prefix: str


def settled(collection: Collection) -> list[Namesakes]:
    """Gives all samples of the collection their final names, and says which sources share names."""
    sources = list(dict.fromkeys(source_of(one.run) for one in collection.kept))
    groups = _sharing(collection.kept, sources)
    renamings = {source: Renaming(source.task, "") for source in sources}
    namesakes = []
    for group in groups:
        labels = group.labels()
        renamings |= labels
        tasks = sorted({renaming.task for renaming in labels.values()})
        namesakes.append(Namesakes(group.is_one, tasks, group.files, group.n_shared))
    skills = _renamed_skills(collection.kept, renamings)
    collection.kept = [_renamed(one, renamings[source_of(one.run)], skills) for one in collection.kept]
    _take_descriptions(collection, renamings)
    return namesakes


class Group(NamedTuple):
    """Sources that share sample names, directly or by way of others."""

    sources: list[TaskSource]
    files: list[str]
    n_shared: int
    is_one: bool

    def labels(self) -> dict[TaskSource, Renaming]:
        """The one task of all, or a task and a prefix for each."""
        named = sorted({source.task for source in self.sources if not source.file})
        if not self.is_one:
            tasks = _distinct(self.sources)
            return {
                source: Renaming(task, f"{task}/") for source, task in zip(self.sources, tasks, strict=True)
            }
        stems = sorted({source.task for source in self.sources})
        task = named[0] if named else " + ".join(stems[:MOST_NAMES])
        if not named and len(stems) > MOST_NAMES:
            task += f" and {len(stems) - MOST_NAMES} more"
        return dict.fromkeys(self.sources, Renaming(task, ""))


def _distinct(sources: Sequence[TaskSource]) -> list[str]:
    """Tasks by name, files by name, with as many of their folders as tell them apart."""
    paths = [Path(source.file).with_suffix("").parts if source.file else () for source in sources]
    for depth in range(1, max(map(len, paths), default=0) + 1):
        labels = [
            "/".join(parts[-depth:]) if parts else source.task
            for parts, source in zip(paths, sources, strict=True)
        ]
        if len(set(labels)) == len(labels):
            return labels
    return [source.file or source.task for source in sources]


def _sharing(kept: Sequence[Kept], sources: Sequence[TaskSource]) -> list[Group]:
    place = {source: at for at, source in enumerate(sources)}
    loose = pl.concat([one.frame.select("sample") for one in kept if not one.run.named_by_task]).unique()
    cells = pl.concat(
        one.frame.select("sample")
        .unique()
        .join(loose, on="sample", how="semi")
        .with_columns(source=pl.lit(place[source_of(one.run)], pl.Int32), learner=pl.lit(one.run.learner))
        for one in kept
    )
    shared = cells.group_by("sample").agg(pl.col("source").unique().sort())
    shared = shared.filter(pl.col("source").list.len() > 1)
    if shared.height == 0:
        return []
    links = shared.group_by("source").len()
    both = cells.join(shared.select("sample"), on="sample", how="semi")
    several = both.group_by("sample", "learner").agg(pl.col("source").unique().sort())
    clashing = several.filter(pl.col("source").list.len() > 1)["source"].unique()
    root = _roots(len(sources), links["source"].to_list())
    clashes = {root[members[0]] for members in clashing.to_list()}
    groups = []
    for head in sorted({root[members[0]] for members in links["source"].to_list()}):
        members = [source for at, source in enumerate(sources) if root[at] == head]
        files = sorted({one.run.source for one in kept if source_of(one.run) in members})
        n_shared = sum(n for group, n in links.rows() if root[group[0]] == head)
        named = {source.task for source in members if not source.file}
        groups.append(Group(members, files, n_shared, len(named) <= 1 and head not in clashes))
    return groups


def _roots(count: int, links: Iterable[Sequence[int]]) -> list[int]:
    """For each place the smallest one that it is linked with, over any number of steps."""
    root = list(range(count))
    for link in links:
        heads = {root[at] for at in link}
        least = min(heads)
        root = [least if head in heads else head for head in root]
    return root


def _renamed(one: Kept, renaming: Renaming, skills: Mapping[int, object]) -> Kept:
    run = one.run
    if run.named_by_task:
        return one
    own = skills.get(id(run.skills), run.skills)
    run = replace(run, task=renaming.task, named_by_task=True, skills=own)  # type: ignore[arg-type]
    frame = one.frame if not renaming.prefix else one.frame.with_columns(_prefixed("sample", renaming.prefix))
    return replace(one, run=run, frame=frame)


def _prefixed(column: str, prefix: str) -> pl.Expr:
    name = pl.col(column)
    return pl.when(name.str.starts_with(prefix)).then(name).otherwise(pl.lit(prefix) + name).alias(column)


def _renamed_skills(kept: Sequence[Kept], renamings: Mapping[TaskSource, Renaming]) -> dict[int, object]:
    """The skill maps of files under the new names of their samples, by the id of the old."""
    names: dict[int, dict[str, str]] = {}
    runs: dict[int, Run] = {}
    for one in kept:
        prefix = renamings[source_of(one.run)].prefix
        if one.run.skills is None or one.run.named_by_task or not prefix:
            continue
        runs[id(one.run.skills)] = one.run
        old = one.frame["sample"].unique()
        new = old.to_frame().select(_prefixed("sample", prefix))["sample"]
        names.setdefault(id(one.run.skills), {}).update(zip(old, new, strict=True))
    return {
        key: run.skills._replace(samples=tuple(names[key].get(name, name) for name in run.skills.samples))
        for key, run in runs.items()
        if run.skills is not None
    }


def _take_descriptions(collection: Collection, renamings: Mapping[TaskSource, Renaming]) -> None:
    """What files say of their samples, under the new names; of a joined sample the first file counts."""
    known = [part.select("sample") for part in collection.about]
    for source in sorted(collection.loose):
        task, prefix = renamings[source]
        columns = [pl.lit(task).alias("task")]
        if prefix:
            columns += [_prefixed("sample", prefix), _prefixed("cluster", prefix)]
        for part in collection.loose[source]:
            named = part.with_columns(columns)
            if known:
                named = named.join(pl.concat(known), on="sample", how="anti", maintain_order="left")
            known.append(named.select("sample"))
            collection.about.append(named)
    collection.loose.clear()
    collection.known.clear()
    collection.in_order = False
