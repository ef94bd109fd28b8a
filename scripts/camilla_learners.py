"""Figure 4A and Tables 2 to 6 of the Camilla paper: the tables and their learners, beside the logs here."""

from pathlib import Path

import numpy as np
import polars as pl

import camilla
from camilla_published import (
    CIFAR_LEARNERS,
    DIAMOND_FAMILIES,
    ESOL_LEARNERS,
    STATISTICS,
    TITANIC_FAMILIES,
)
from camilla_runs import DIAMOND
from figures import number


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table."""
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def statistics_section(tables: dict[str, camilla.ResponseTable]) -> str:
    """Table 2."""
    rows = []
    for name, numbers in STATISTICS.items():
        ours = "–"
        if name in tables:
            table = tables[name]
            ours = f"{table.n_samples:,} × {table.n_learners} = {table.n_responses:,}"
        rows.append([name, f"{numbers[0]:,} × {numbers[1]} = {numbers[2]:,}", ours])
    return (
        "## Table 2: the tables\n\n"
        + markdown(["", "paper: samples × learners = responses", "here"], rows)
        + "\nThe log of the 50,000 CIFAR-100 training images is not public: here it is the released log of "
        "the 10,000 test images, so the paper's CIFAR-100 columns are not beside ours. The Diamond log is "
        "not public either: ours is of our own pool.\n"
    )


def learners_section(folder: Path, tables: dict[str, camilla.ResponseTable]) -> str:
    """Tables 3 to 6."""
    titanic = tables["titanic"].learner_means().mean
    names = tables["titanic"].learners
    rows = []
    for family, (prefix, count, mean, sd) in TITANIC_FAMILIES.items():
        own = titanic[[i for i, name in enumerate(names) if name.startswith(prefix)]]
        rows.append(
            [
                family,
                f"{count}: {number(mean)} ± {number(sd)}",
                f"{len(own)}: {number(own.mean())} ± {number(own.std())}",
            ]
        )
    parts = [
        "## Table 3: learners of Titanic\n",
        markdown(["family", "paper: learners: mean ± sd", "released log"], rows),
    ]
    cifar = dict(zip(tables["cifar100"].learners, tables["cifar100"].learner_means().mean, strict=True))
    by_paper = sorted(CIFAR_LEARNERS, key=CIFAR_LEARNERS.__getitem__, reverse=True)
    rows = [[name, number(CIFAR_LEARNERS[name]), number(cifar[name])] for name in by_paper]
    parts += [
        "## Table 4: learners of CIFAR-100\n",
        markdown(
            ["learner", "paper: 50,000 training images, 5 folds", "released log: 10,000 test images"], rows
        ),
    ]
    frame = pl.read_parquet(folder / "camilla_responses/esol_22x1127.parquet")
    rows = []
    for name, (mae, rmse) in ESOL_LEARNERS.items():
        error = (frame[name] - frame["label"]).to_numpy()
        rows.append(
            [
                name,
                f"{number(mae)} / {number(rmse)}",
                f"{number(np.abs(error).mean())} / {number(np.sqrt(np.mean(error**2)))}",
            ]
        )
    parts += [
        "## Table 5: learners of ESOL\n",
        markdown(["learner", "paper: MAE / RMSE", "released log"], rows),
        diamond_section(),
    ]
    return "\n".join(parts)


def diamond_section() -> str:
    """Table 6."""
    rows = [
        [family, f"{count}: {mean} ± {sd}", "–"] for family, (count, mean, sd) in DIAMOND_FAMILIES.items()
    ]
    head = ["family", "paper: learners: MAE mean ± sd, 53,940 stones", "our pool"]
    if (DIAMOND / "predictions.parquet").exists():
        frame = pl.read_parquet(DIAMOND / "predictions.parquet")
        learners = pl.read_parquet(DIAMOND / "learners.parquet").filter(
            pl.col("learner").is_in(frame.columns)
        )
        truth = frame["truth"].to_numpy()
        rows = []
        for (family,), part in learners.group_by("family", maintain_order=True):
            mae = np.array([np.abs(frame[name].to_numpy() - truth).mean() for name in part["learner"]])
            printed = next((row for name, row in DIAMOND_FAMILIES.items() if _same(name, str(family))), None)
            paper = "–" if printed is None else f"{printed[0]}: {printed[1]} ± {printed[2]}"
            rows.append([str(family), paper, f"{len(mae)}: {mae.mean():.1f} ± {mae.std():.1f}"])
        head[2] = f"our pool, {frame.height:,} stones"
    return "## Table 6: learners of Diamond\n\n" + markdown(head, rows)


def _same(printed: str, family: str) -> bool:
    """Whether the paper's name of a family begins as ours does, letters alone."""
    long, short = ("".join(filter(str.isalpha, name.lower())) for name in (printed, family))
    return long.startswith(short)


def assumptions_section(results: pl.DataFrame) -> str:
    """Figure 4A in numbers."""
    rows = []
    for (name,), part in results.filter(experiment="assumptions").group_by("table", maintain_order=True):
        skills = part.filter(score="accuracy").group_by("learner").agg(
            (pl.col("value").max() - pl.col("value").min()).alias("range")
        )  # fmt: skip
        for score in ("agreement", "jaccard"):
            q = part.filter(score=score)["value"]
            low, mid, high = (q.quantile(share) for share in (0.05, 0.5, 0.95))
            rows.append(
                [str(name), score, number(low), number(mid), number(high), number(skills["range"].median())]
            )  # type: ignore[arg-type]
    head = ["table", "of two learners", "5 %", "median", "95 %", "best − worst skill of a learner, median"]
    return (
        "## Figure 4A: are learners unlike each other?\n\n"
        "*agreement* is the share of samples on which two learners are both right or both wrong, which the "
        "paper calls Jaccard.\n\n" + markdown(head, rows)
    )
