"""The tables of Camilla's paper, against numbers published with them."""

import numpy as np
import polars as pl


def test_titanic_families_have_the_accuracies_of_the_papers_table_3(titanic):
    """Random forests .779 (162 of them), SGD .710 (122): Supplementary Table 3, three digits."""
    assert (titanic.n_learners, titanic.n_samples, titanic.is_binary, titanic.is_complete) == (
        353,
        418,
        True,
        True,
    )
    accuracy = titanic.learner_means().mean
    for family, published, count in (("random_forest", 0.779, 162), ("sgd", 0.710, 122)):
        chosen = [i for i, name in enumerate(titanic.learners) if name.lower().startswith(family)]
        assert len(chosen) == count
        assert abs(accuracy[chosen].mean() - published) < 6e-4


def test_titanic_skills_are_sex_port_and_class(titanic):
    ports = ("Embarked=C", "Embarked=Q", "Embarked=S")
    assert titanic.skill_map.skills == ("Sex=female", "Sex=male", *ports, "Pclass=1", "Pclass=2", "Pclass=3")
    np.testing.assert_array_equal(titanic.skill_map.mask.sum(axis=1), 3)
    np.testing.assert_array_equal(titanic.skill_map.mask[0], [0, 1, 0, 1, 0, 0, 0, 1])


def test_cifar_classes_are_aligned_with_the_images(cifar100):
    """Aligned classes differ far more in accuracy than shifted ones: the manifest found 12 times."""
    assert (cifar100.n_learners, cifar100.n_samples, cifar100.skill_map.n_skills) == (42, 10_000, 100)
    accuracy = cifar100.sample_means().mean
    mask = cifar100.skill_map.mask
    np.testing.assert_array_equal(mask.sum(axis=0), 100)
    aligned, shifted = (np.var(accuracy @ m / 100) for m in (mask, np.roll(mask, 1, axis=0)))
    assert aligned > 8 * shifted


def test_esol_responses_are_the_reversed_min_max_of_absolute_errors(esol, data_folder):
    frame = pl.read_parquet(data_folder / "camilla_responses/esol_22x1127.parquet")
    error = np.abs(frame.drop("id", "label").to_numpy() - frame["label"].to_numpy()[:, None])
    low, high = error.min(axis=1, keepdims=True), error.max(axis=1, keepdims=True)
    np.testing.assert_allclose(esol.matrix(), (1 - (error - low) / (high - low)).T, atol=1e-12)
    assert (esol.n_learners, esol.n_samples, esol.n_missing) == (22, 1127, 0)


def test_math500_reads_without_being_told_anything(math500):
    assert (math500.n_learners, math500.n_samples, math500.is_binary, math500.is_complete) == (
        140,
        500,
        True,
        True,
    )
