"""Clusters and tasks of samples from what a log or a written table says of them."""

from dataclasses import replace

import polars as pl

from camilla.data.names import nearest, quoted
from camilla.data.responses import ResponseTable
from camilla.errors import DataError


def with_clusters(table: ResponseTable, column: str) -> ResponseTable:
    """The table with samples of one value in a column of what is said of them as a cluster."""
    return replace(table, cluster=sample_column(table, column))


def sample_column(table: ResponseTable, column: str) -> tuple[str, ...]:
    """The task or cluster of each sample, or its value in a column of the sample metadata."""
    own = {name: values for name in ("task", "cluster") if (values := getattr(table, name)) is not None}
    if column in own:
        return own[column]
    metadata = table.sample_metadata
    columns = [] if metadata is None else [name for name in metadata.columns if name != "sample"]
    if metadata is None or column not in columns:
        there = nearest(column, [*own, *columns]) if own or columns else "There is nothing."
        raise DataError(f"nothing called {column!r} is said of the samples. {there}")
    order = pl.DataFrame({"sample": table.samples})
    values = order.join(metadata.select("sample", column), on="sample", how="left", maintain_order="left")[
        column
    ]
    if isinstance(values.dtype, pl.List | pl.Struct | pl.Array):
        raise DataError(f"{column!r} has several values a sample; one was wanted.")
    if values.null_count():
        without = [name for name, value in zip(table.samples, values, strict=True) if value is None]
        raise DataError(f"{len(without)} samples have no {column!r}, such as {quoted(without[:1])}.")
    return tuple(values.cast(pl.String))
