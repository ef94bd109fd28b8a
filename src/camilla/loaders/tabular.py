"""Long tables among logs: columns learner, sample and response, or names of the Item Response Warehouse."""

from collections.abc import Iterator
from pathlib import Path

from camilla.data.names import shown
from camilla.errors import CamillaError
from camilla.loaders.frames import ENDINGS, column_names
from camilla.loaders.peeking import Peek
from camilla.loaders.runs import About, Loader, Row, Run, Sniffed
from camilla.loaders.tables import LONG_NAMES, read


def sniff(peek: Peek) -> Sniffed | None:
    """A header with the three columns; other tables need to be told what their columns are."""
    if peek.ending not in ENDINGS or not peek.head:
        return None
    try:
        names = peek.keys if peek.ending in (".jsonl", ".ndjson") else column_names(peek.path)
    except CamillaError:
        return None
    found = [next((name for name in usual if name in names), None) for usual in LONG_NAMES.values()]
    if None in found:
        return None
    return Sniffed(0.6, f"a table with columns {', '.join(shown(str(name)) for name in found)}")


def runs(path: Path) -> Iterator[Run]:
    """A run for each learner and task; a table without a task is one task named after its file."""
    names = column_names(path)
    trial, of_task, of_cluster = (role if role in names else None for role in ("trial", "task", "cluster"))
    table = read(path, trial=trial, task=of_task, cluster=of_cluster)
    task = table.task or (path.stem,) * table.n_samples
    cluster = table.cluster or (None,) * table.n_samples
    rows: dict[tuple[str, str], list[Row]] = {}
    for at, (learner, sample, response) in enumerate(
        zip(table.learner.tolist(), table.sample.tolist(), table.response.tolist(), strict=True)
    ):
        number = 0 if table.trial is None else int(table.trial[at])
        row = Row(table.samples[sample], response, trial=number)
        rows.setdefault((table.learners[learner], task[sample]), []).append(row)
    about = {name: About(cluster=one) for name, one in zip(table.samples, cluster, strict=True)}
    for (learner, one), of_run in rows.items():
        yield Run(
            learner,
            one,
            of_run,
            source=str(path),
            format="table",
            about=about,
            named_by_task=False,
        )


TABLE = Loader(sniff, runs)
