"""Features: what is read, what is refused and in which words, and that tables keep them."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import camilla
from camilla.errors import FormatError
from camilla.table.encoding import Encoder
from camilla.table.features import Features

SAMPLES = ["w", "x", "y", "z"]


def table() -> camilla.ResponseTable:
    return camilla.ResponseTable.from_matrix([[1, 0, 1, 1], [0, 0, 1, 0]], samples=SAMPLES)


def of(**columns: list[object]) -> pl.DataFrame:
    return pl.DataFrame({"sample": SAMPLES, **columns}, strict=False)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (of(a=[1, 2, 3, 4])[:2], "has no row for 2 of 4 samples: 'y', 'z'"),
        (of(a=[1, 1, 1, 1]), "'a' is the same for all 4 samples"),
        (of(a=[1.0, 2.0, float("inf"), 0.0]), "must be a finite number; row 2, column 'a' has inf"),
        (of(a=["1", "2", "n/a?", "4"]), "column 'a' contains numbers, and 'n/a?' in row 2"),
        (of(a=[None, None, None, None]), "column 'a' is empty"),
        (of(a=[[1.0, 2.0], [1.0], [1.0, 3.0], [0.0, 1.0]]), "vectors have one length; row 1"),
        (
            of(a=[[1.0, 2.0], [1.0, float("nan")], [1.0, 3.0], [0.0, 1.0]]),
            "a vector must contain finite numbers; row 1",
        ),
        (
            pl.concat([of(a=[1, 2, 3, 4]), of(a=[1, 2, 3, 5])]),
            "sample 'w' has more than one row, row 0 and row 4",
        ),
        (of(a=[1.0, 2.0, 1e200, 0.0]), "row 2, column 'a' has 1e+200; 1e+100 is the largest"),
        (of(a=[[1e200], [0.0], [1.0], [2.0]]), "row 0, column 'a' has 1e+200; 1e+100 is the largest"),
        (of(a=pl.Series([[]] * 4, dtype=pl.List(pl.Float64))), "the vectors of column 'a' have no numbers"),
        (of(a=pl.Series(range(4), dtype=pl.Duration("ms"))), "column 'a' has the type Duration"),
        (of(), "has no column beside 'sample'"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_place(frame: pl.DataFrame, words: str) -> None:
    with pytest.raises(camilla.DataError) as caught:
        table().with_features(samples=frame)
    assert words in str(caught.value)


def test_a_matrix_of_another_length_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "e.npy", np.eye(3))
    with pytest.raises(camilla.DataError, match="has 3 rows for 4 samples"):
        table().with_features(samples=tmp_path / "e.npy")
    (tmp_path / "bad.npy").write_text("no matrix")
    with pytest.raises(camilla.DataError, match="is not a matrix of numbers") as caught:
        table().with_features(samples=tmp_path / "bad.npy")
    assert str(caught.value).endswith("it holds objects, or no array. Write the numbers with numpy.save.")


def test_notes_say_what_was_done() -> None:
    frame = pl.concat([of(a=[1.0, None, 3.0, float("nan")], b=[1, 1, 1, 1], c=["p", "q", "r", "s"]),
                       pl.DataFrame({"sample": ["other"], "a": [9.0], "b": [1], "c": ["t"]})])  # fmt: skip
    features = table().with_features(samples=frame).sample_features
    assert features is not None
    assert features.notes == (
        "the features: 'c' differs for every sample, as names do; left out",
        "the features: 'a' is missing for 2 of 4 samples; they count as the mean",
        "the features: 1 row is of a sample that the table does not have; ignored",
        "the features: 'b' is the same for all 4 samples; left out",
    )


def test_kinds_are_told_by_what_a_column_holds() -> None:
    long = [
        "how many legs has a spider",
        "what is the colour of the sea",
        "why is the sky so very blue",
        "who",
    ]
    frame = of(
        number=["1", "2.5", "", "4"], date=["2024-01", "2024-02-01", "2023-05-05", "2025-01-01"],
        truth=[True, False, True, True], topic=["law", "law", "art", ""], prompt=long,
        vector=[[1, 2], [3, 4], [5, 6], [7, 8]],
    )  # fmt: skip
    features = Features.from_frame(frame)
    assert dict(features.kinds) == {
        "number": "number", "date": "number", "truth": "number", "topic": "category", "prompt": "text",
        "vector": "vector",
    }  # fmt: skip
    assert features.frame["date"].to_list()[1] == pytest.approx(19754 / 365.25)  # days since 1970


def test_a_table_keeps_its_features(tmp_path: Path) -> None:
    learners = pl.DataFrame({"learner": ["learner-1", "learner-0"], "size": [70, 7]})
    full = table().with_features(samples=of(a=[1, 2, 3, 4]), learners=learners)
    part = full.take_samples([3, 1]).take_learners([1])
    assert part.sample_features is not None
    assert part.learner_features is not None
    assert part.sample_features.frame["a"].to_list() == [4.0, 2.0]
    assert part.learner_features.frame["size"].to_list() == [70.0]
    again = camilla.read(full.write(tmp_path / "t.parquet"))
    assert again.digest() == full.digest() != table().digest()
    assert full.canonical().table.digest() == full.digest()
    assert again.learner_features is not None
    assert again.learner_features.frame["size"].to_list() == [7.0, 70.0]


def test_features_are_read_with_the_table(tmp_path: Path) -> None:
    long = "learner,sample,response,topic,size\na,x,1,law,7\na,y,0,art,7\nb,x,1,law,70\nb,y,1,art,70\n"
    (tmp_path / "t.csv").write_text(long)
    (tmp_path / "f.csv").write_text("sample,words,years\ny,3,1\nx,5,2\n")
    read = camilla.read(
        tmp_path / "t.csv", features=[f"{tmp_path}/f.csv:words", ":topic"], learner_features=":size"
    )
    assert read.sample_features is not None
    assert read.learner_features is not None
    assert read.sample_features.to_frame().sort("sample").rows() == [("x", "law", 5.0), ("y", "art", 3.0)]
    assert read.learner_features.frame["size"].to_list() == [7.0, 70.0]
    with pytest.raises(camilla.DataError, match="no column 'topics'"):
        camilla.read(tmp_path / "t.csv", features=":topics")


def test_blocks_have_mean_0_and_total_variance_1() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({
        "sample": [str(k) for k in range(60)], "a": [None if k % 7 == 0 else float(k) for k in range(60)],
        "b": [("p", "q", "r")[k % 3] for k in range(60)], "v": rng.normal(size=(60, 3)).tolist(),
    })  # fmt: skip
    features = Features.from_frame(frame)
    encoder = Encoder.fit(features)
    matrix = encoder.matrix(features)
    of_column = np.array(encoder.feature)
    assert matrix.mean(axis=0) == pytest.approx(np.zeros(matrix.shape[1]), abs=1e-12)
    assert encoder.columns[:2] == ("a", "a is missing")
    for feature, total in (("a", 2), ("b", 1), ("v", 1)):  # a number and the mark of where it is missing
        assert matrix[:, of_column == feature].var(axis=0).sum() == pytest.approx(total)
    assert matrix[:, :2].var(axis=0) == pytest.approx([1, 1])
    again = Encoder.restored(encoder.document(), encoder.arrays)
    assert np.array_equal(again.matrix(features), matrix)


def test_an_unseen_category_has_a_column_of_its_own() -> None:
    """Shares ½, ½: the scale is √(1 − ½); another level is 1 in the last column less the shares."""
    encoder = Encoder.fit(Features.from_frame(of(topic=["law", "law", "art", "art"])))
    new = Features.from_frame(pl.DataFrame({"sample": ["n"], "topic": ["tax"]}), kinds={"topic": "category"})
    assert encoder.columns == ("topic=art", "topic=law", "topic=(another)")
    assert encoder.matrix(new)[0] == pytest.approx(np.array([-0.5, -0.5, 1]) / np.sqrt(0.5))


def test_text_is_what_scikit_learn_makes_of_it() -> None:
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    rng = np.random.default_rng(1)
    words = np.array(["sea", "law", "the", "court", "ship", "judge", "storm", "of", "sail", "Über"])
    texts = [" ".join(rng.choice(words, 8)) for _ in range(40)]
    frame = pl.DataFrame({"sample": [str(k) for k in range(40)], "prompt": texts})
    features = Features.from_frame(frame, kinds={"prompt": "text"})
    encoder = Encoder.fit(features)
    weights = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), min_df=2).fit_transform(texts)
    wanted = TruncatedSVD(encoder.matrix(features).shape[1], random_state=0).fit_transform(weights)
    wanted -= wanted.mean(axis=0)
    wanted /= np.sqrt(wanted.var(axis=0).sum())
    assert encoder.matrix(features) == pytest.approx(wanted, abs=1e-8)


def test_other_features_than_those_fitted_on_are_refused() -> None:
    encoder = Encoder.fit(Features.from_frame(of(words=[1, 2, 3, 4])))
    with pytest.raises(camilla.DataError, match="no column 'words', which was fitted on"):
        encoder.matrix(Features.from_frame(of(length=[1, 2, 3, 4])))
    with pytest.raises(camilla.DataError, match="is a category; a number was fitted on"):
        encoder.matrix(Features.from_frame(of(words=["p", "q", "p", "q"])))


def test_a_number_that_was_fitted_on_may_be_missing_for_every_new_sample() -> None:
    """It is the mean then, which is 0 in standard deviations."""
    encoder = Encoder.fit(Features.from_frame(of(words=[1.0, 2.0, 3.0, 6.0])))
    for gap in (pl.Series([None], dtype=pl.Float64), pl.Series([""]), pl.Series([float("nan")])):
        new = Features.read(pl.DataFrame({"sample": ["n"], "words": gap}), kinds=encoder.kinds)
        assert encoder.matrix(new).tolist() == [[0.0]]


def test_a_saved_encoding_whose_numbers_do_not_belong_together_is_refused() -> None:
    letters = [("p", "q", "r")[k % 3] for k in range(9)]
    frame = pl.DataFrame({"sample": [str(k) for k in range(9)], "b": letters, "v": np.eye(9)[:, :3].tolist()})
    encoder = Encoder.fit(Features.from_frame(frame))
    document = encoder.document()
    levels = [one | {"shares": [1.0]} if "shares" in one else one for one in document["codings"]]
    for wrong, arrays, message in (
        (document | {"codings": []}, encoder.arrays, "has no feature"),
        (document | {"codings": levels}, encoder.arrays, "the numbers of 'b' are of another size"),
        (document, {"v.centre": np.zeros(2)}, "the numbers of 'v' are of another size"),
        (document, {}, r"has lost 'v\.centre'"),
    ):
        with pytest.raises(FormatError, match=message):
            Encoder.restored(wrong, arrays)


def test_missing_numbers_are_counted_among_the_samples_of_the_table() -> None:
    """The file has five samples, two without a number; the table has three, one of them without."""
    frame = pl.DataFrame({"sample": list("abcde"), "x": [1.0, None, 2.0, None, 3.0], "y": [1, 2, 3, 4, 5]})
    assert Features.read(frame, names=["e", "b", "a"]).notes == (
        "the features: 'x' is missing for 1 of 3 samples; they count as the mean",
        "the features: 2 rows are of samples that the table does not have; ignored",
    )
    assert Features.read(frame, names=["e", "c", "a"]).notes == (
        "the features: 2 rows are of samples that the table does not have; ignored",
    )
