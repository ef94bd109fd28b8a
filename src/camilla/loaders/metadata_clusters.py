"""Clusters of samples from what a log says of them."""

from dataclasses import replace

import polars as pl

from camilla.data.names import nearest, quoted
from camilla.data.responses import ResponseTable
from camilla.errors import DataError


def with_clusters(table: ResponseTable, column: str) -> ResponseTable:
    """The table with samples of one value in a column of its sample metadata as a cluster."""
    metadata = table.sample_metadata
    columns = [] if metadata is None else [name for name in metadata.columns if name != "sample"]
    if metadata is None or column not in columns:
        there = nearest(column, columns) if columns else "There is none."
        raise DataError(f"the logs say nothing called {column!r} of their samples. {there}")
    order = pl.DataFrame({"sample": table.samples})
    values = order.join(metadata.select("sample", column), on="sample", how="left", maintain_order="left")[
        column
    ]
    if isinstance(values.dtype, pl.List | pl.Struct | pl.Array):
        raise DataError(f"{column!r} has several values a sample; one was wanted to be its cluster.")
    if values.null_count():
        without = [name for name, value in zip(table.samples, values, strict=True) if value is None]
        raise DataError(f"{len(without)} samples have no {column!r}, such as {quoted(without[:1])}.")
    return replace(table, cluster=tuple(values.cast(pl.String)))
