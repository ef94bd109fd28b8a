"""The same sample name in several files or tasks: one benchmark, or several that are told apart.

Formats whose sample names do not hold their task (tables, py-irt, SWE-bench) may use 1, 2, 3, … in every
file. A source is a task that was named, or a file in which none was. Sources that share sample names are
joined only where names say that they are one benchmark (`_says_one`), or the caller does. Otherwise each
keeps its own samples, called task/name or file/name: told apart wrongly they share nothing, which is seen;
joined wrongly they give a wrong number, which is not.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from camilla.errors import SettingError
from camilla.names import quoted
from camilla.reading.content import prefixed
from camilla.reading.runs import Collection, Kept, Namesakes, Run, TaskSource, source_of

MOST_NAMES = 3


class Renaming(NamedTuple):
    """What a source's task is called now, and what goes before its samples' names."""

    task: str
    prefix: str


def settled(collection: Collection, *, one_benchmark: bool = False) -> list[Namesakes]:
    """Gives all samples of the collection their final names, and says which sources share names."""
    namesakes = [] if one_benchmark else _of_folders(collection)
    sources = list(dict.fromkeys(source_of(one.run) for one in collection.kept))
    groups = _sharing(collection.kept, sources, one_benchmark)
    renamings = {source: Renaming(source.task, "") for source in sources}
    for group in groups:
        labels = group.labels()
        renamings |= labels
        tasks = sorted({renaming.task for renaming in labels.values()})
        namesakes.append(Namesakes(group.is_one, tasks, group.files, group.n_shared))
    skills = _renamed_skills(collection.kept, renamings)
    collection.kept = [_renamed(one, renamings[source_of(one.run)], skills) for one in collection.kept]
    _take_descriptions(collection, renamings)
    return namesakes


def _of_folders(collection: Collection) -> list[Namesakes]:
    """Takes files of one name for one task where each folder is named after the only learner of its files."""
    learners = _learners(collection.kept)
    by_name: dict[str, list[TaskSource]] = {}
    for source, of_source in learners.items():
        folder = _words(Path(source.file).resolve().parent.name) if source.file else ()
        if len(of_source) == 1 and folder and _without(folder, _words(*of_source)) is not None:
            by_name.setdefault(source.task, []).append(source)
    found = []
    for task, members in sorted(by_name.items()):
        distinct = {next(iter(learners[source])) for source in members}
        if len(members) > 1 and len(distinct) == len(members):
            own = [one for one in collection.kept if source_of(one.run) in members]
            names = pl.concat([one.frame.select("sample").unique() for one in own])
            shared = names.filter(names.is_duplicated()).unique().height
            found.append(Namesakes(True, [task], sorted({one.run.source for one in own}), shared))
            collection.name_tasks(dict.fromkeys(members, task))
    return [one for one in found if one.n_shared]


def _learners(kept: Sequence[Kept]) -> dict[TaskSource, set[str]]:
    learners: dict[TaskSource, set[str]] = {}
    for one in kept:
        learners.setdefault(source_of(one.run), set()).add(one.run.learner)
    return learners


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


def _sharing(kept: Sequence[Kept], sources: Sequence[TaskSource], one_benchmark: bool) -> list[Group]:
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
        is_one = one_benchmark or (head not in clashes and _says_one(members, kept))
        if one_benchmark:
            _check_one(members, n_shared)
        groups.append(Group(members, files, n_shared, is_one))
    return groups


def _check_one(members: Sequence[TaskSource], n_shared: int) -> None:
    """Refuses to join what is named as several tasks."""
    named = sorted({source.task for source in members if not source.file})
    if len(named) > 1:
        raise SettingError(
            f"--one-benchmark cannot join tasks that are named: {quoted(named)} share {n_shared} sample "
            "names. Leave it out, or read the tasks apart."
        )


def _says_one(members: Sequence[TaskSource], kept: Sequence[Kept]) -> bool:
    """Whether names say that the sources are one benchmark.

    At most one task is named, and every other file is called like it. Where none is named, every file holds
    one learner, and file names without the learners' are the same: model_a.csv and model_b.csv, not
    gsm8k_a.csv and mmlu_b.csv.
    """
    named = {source.task for source in members if not source.file}
    learners = _learners(kept)
    rests = {_benchmark_in(Path(source.file), learners[source], named) for source in members if source.file}
    return len(named) <= 1 and (not rests or (len(rests) == 1 and None not in rests))


def _benchmark_in(file: Path, learners: set[str], named: set[str]) -> tuple[str, ...] | None:
    """The words of a file's name that are not its only learner's; None if it is not named after it."""
    stem = _words(file.stem)
    if named:
        tasks = {_words(task) for task in named}
        return () if {stem, *(_without(stem, _words(learner)) for learner in learners)} & tasks else None
    if len(learners) > 1:
        return None
    own = _words(*learners)
    return _without(stem, own) if own else None


def _words(name: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^\W_]+", name.casefold()))


def _without(words: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...] | None:
    """The words without those of a learner, none where all of them are its; None where it is not named."""
    for at in range(len(words) - len(own) + 1):
        if words[at : at + len(own)] == own:
            return words[:at] + words[at + len(own) :]
    inside = any(own[at : at + len(words)] == words for at in range(len(own) - len(words) + 1))
    return () if words and inside else None


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
    return replace(one, run=run, frame=frame, prefix=renaming.prefix)


def _prefixed(column: str, prefix: str) -> pl.Expr:
    return prefixed(column, pl.lit(prefix)).alias(column)


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
            named = part.with_columns(columns).unique("sample", keep="first", maintain_order=True)
            if known:
                named = named.join(pl.concat(known), on="sample", how="anti", maintain_order="left")
            known.append(named.select("sample"))
            collection.about.append(named)
    collection.loose.clear()
    collection.known.clear()
    collection.in_order = False
