"""Figure 7, left: samples placed by the latent skills they ask for, coloured by difficulty."""

from importlib.util import find_spec

import numpy as np
from matplotlib.figure import Figure

from camilla.diagnosis import Diagnosis
from camilla.errors import DataError
from camilla.plots.canvas import blank
from camilla.plots.profiles import sample_column

MOST = 5000  # samples; t-SNE's time grows faster than their number


def mask_map_figure(diagnosis: Diagnosis, *, seed: int = 0) -> Figure:
    """t-SNE of the skill masks (van der Maaten, Hinton 2008); distances between far groups mean nothing."""
    mask = diagnosis.readout.skill_weight
    if mask is None or diagnosis.readout.explicit or mask.shape[1] < 2:
        raise DataError(
            f"the picture mask-map shows latent skill masks, and {diagnosis.diagnoser.name} has none. "
            "Diagnose with camilla."
        )
    if find_spec("sklearn") is None:
        raise DataError("the picture mask-map needs scikit-learn: pip install 'camilla[pools]'.")
    from sklearn.manifold import TSNE

    difficulty = sample_column(diagnosis, "difficulty", "mask-map")
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(mask))[:MOST])
    perplexity = min(30.0, max(2.0, (len(rows) - 1) / 4))
    place = TSNE(perplexity=perplexity, random_state=seed, init="pca").fit_transform(
        mask[rows].astype(np.float32)
    )
    figure, axes = blank(6.6, 5.2)
    size = 14 if len(rows) < 1000 else 5
    spots = axes.scatter(*place.T, c=difficulty[rows], cmap="cividis", s=size, lw=0, rasterized=True)
    figure.colorbar(spots, label="difficulty", shrink=0.8)
    axes.set(xticks=[], yticks=[], xlabel="t-SNE of the skill masks")
    axes.spines[:].set_visible(False)
    some = "" if len(rows) == len(mask) else f" of {len(mask)}"
    axes.set_title(f"{len(rows)}{some} samples, {mask.shape[1]} latent skills, seed {seed}", fontsize=10)
    return figure
