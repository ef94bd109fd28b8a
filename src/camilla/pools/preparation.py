"""Features as learners want them: one-hot categories, scaled numbers; learned from the training rows only."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from camilla.pools.validation import Split


@dataclass(frozen=True)
class Preparation:
    """scale: `numbers`, `all` (one-hot columns too) or `none`; fill: mean or most frequent value for a
    missing one; drop_first: one column fewer a category; scale_target: learn the target as z-scores;
    scale_apart: the numbers of the test rows by their own mean and spread, as the Titanic log was made."""

    scale: Literal["numbers", "all", "none"] = "numbers"
    fill: bool = False
    drop_first: bool = False
    scale_target: bool = False
    scale_apart: bool = False

    def matrices(self, features: pl.DataFrame, split: Split) -> tuple[NDArray[np.float64], ...]:
        """Training and test rows as matrices."""
        numbers = [name for name, kind in features.schema.items() if kind.is_numeric()]
        prepared = self._transformer(numbers, [name for name in features.columns if name not in numbers])
        train = np.ascontiguousarray(prepared.fit_transform(features[split.train]))
        test = np.ascontiguousarray(prepared.transform(features[split.test]))
        if self.scale_apart:
            own = test[:, : len(numbers)]
            test[:, : len(numbers)] = (own - own.mean(axis=0)) / own.std(axis=0)
        return train, test

    def _transformer(self, numbers: list[str], labels: list[str]) -> Any:
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

        as_is = FunctionTransformer(np.asarray)
        one_hot = OneHotEncoder(
            sparse_output=False, handle_unknown="ignore", drop="first" if self.drop_first else None
        )
        columns = ColumnTransformer(
            [
                (
                    "numbers",
                    make_pipeline(
                        SimpleImputer() if self.fill else as_is,
                        StandardScaler() if self.scale == "numbers" else as_is,
                    ),
                    numbers,
                ),
                (
                    "labels",
                    make_pipeline(
                        SimpleImputer(strategy="most_frequent", missing_values=None) if self.fill else as_is,
                        one_hot,
                    ),
                    labels,
                ),
            ]
        )
        return make_pipeline(columns, StandardScaler() if self.scale == "all" else as_is)
