"""How many polynomials each normalization needs: the paper says VCA needs more."""

from functools import partial
from itertools import product

import numpy as np
from experiments.harness import page
from experiments.harness.cell import Cell
from experiments.images import counts_figure
from experiments.images.data import N_TEST, SETS, SHAPE, auc, even_labels, on_device
from experiments.images.setting import Fitted
from sklearn.decomposition import PCA

from vanishing import TransformationDetector, VanishingIdeal
from vanishing.transformations import Rotations

TITLE = "Numbers of polynomials"

#: Normalization, and the products that are its candidates.
METHODS = {
    "VCA, all products": ("vca", "all"),
    "VCA": ("vca", "independent"),
    "nVCA": ("gradient", "independent"),
    "contrastive": ("contrastive", "independent"),
}
#: From few polynomials to many: multiples of the smallest spread of a component, or ratios.
TOLERANCES = {
    "vca": (1.05, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0),
    "gradient": (0.2, 0.3, 0.4, 0.55, 0.75, 1.05, 1.5, 2.0),
    "contrastive": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9),
}
DIMENSION, DEGREE = 10, 3
#: AUCs are called equal up to this, in points.
SLACK = 0.5


def cells(size):
    full = size == "full"
    n_images, n_test = (10_000, N_TEST) if full else (1_000, 500)
    degree = DEGREE if full else 2
    return [
        Cell(f"{name}, {method}", partial(sweep, name, method, n_images, n_test, degree))
        for name, method in product(SETS, METHODS)
    ]


def sweep(name, method, n_images, n_test, degree):
    """Return polynomials by degree, mean over the four copies, and the AUC at each tolerance."""
    normalization, products = METHODS[method]
    task = even_labels(name, n_images, n_test=n_test)
    maps = Rotations(SHAPE)
    copies = np.concatenate([each(task.train) for each in maps.for_width(task.train.shape[1])])
    # The same principal components for all; they do not depend on tolerance or normalization.
    pca = PCA(DIMENSION, random_state=0).fit(copies)
    spreads = np.sqrt(pca.explained_variance_)
    unit = {"vca": spreads[-1] / spreads[0], "gradient": spreads[-1], "contrastive": 1.0}
    task = task.mapped(on_device)
    points = []
    for multiple in TOLERANCES[normalization]:
        ideal = VanishingIdeal(
            max_degree=degree,
            tol=float(multiple * unit[normalization]),
            normalization=normalization,
            products=products,
            reduction="gram",
        )
        detector = TransformationDetector(maps, preprocessor=Fitted(pca), ideal=ideal)
        try:
            detector.fit(task.train)
        except ValueError as error:
            if "no polynomial vanishes" not in str(error):
                raise
            continue
        by_degree = [
            np.bincount(np.asarray(row[0].basis_.degrees()), minlength=degree + 1)[1:]
            for row in detector.ideals_
        ]
        points.append(
            {
                "tol": multiple,
                "by degree": np.mean(by_degree, axis=0).round(2).tolist(),
                "polynomials": round(float(np.sum(by_degree) / len(by_degree)), 2),
                "AUC": auc(detector, task),
            }
        )
    return {"points": points}


# --- page -----------------------------------------------------------------------------------------


def report(results, size):
    picture = page.picture(
        counts_figure.draw(results, METHODS, size),
        "AUC against the number of polynomials for VCA, nVCA and the contrastive normalization.",
    )
    return f"""The paper says, without figures, that VCA increases the number of polynomials and
normalization reduces it. Tolerances of different normalizations have different units, so no
tolerance is the same for all. We use the first 10,000 images, four rotations, {DIMENSION} principal
components, degree up to {DEGREE} and no weights, vary each tolerance from few polynomials to many,
and compare the methods at equal AUC on the test images. This needs labels, so it is a measurement
and not a way to choose. Numbers are means over the four copies. "All products" is VCA as published,
whose candidates contain repeated products, so that some polynomials are zero everywhere; the other
rows leave such products out.

{picture}

Fewest polynomials that reach the lowest of the methods' best AUCs, up to {SLACK} points:

{_table(results)}

{_claims(results)}
"""


def equal_auc(results, name):
    """Return the AUC that all methods reach, or None where not all have been run."""
    swept = [results.get(f"{name}, {method}", {}).get("points") for method in METHODS]
    if not all(swept):
        return None
    return min(max(point["AUC"] for point in points) for points in swept) - SLACK


def fewest(results, name, method):
    """Return the point with the fewest polynomials that reaches this AUC."""
    least = equal_auc(results, name)
    points = results[f"{name}, {method}"]["points"]
    return min(
        (point for point in points if point["AUC"] >= least), key=lambda one: one["polynomials"]
    )


def _table(results):
    rows = []
    for name in SETS:
        if equal_auc(results, name) is None:
            continue
        for method in METHODS:
            point = fewest(results, name, method)
            best = max(results[f"{name}, {method}"]["points"], key=lambda one: one["AUC"])
            by_degree = " + ".join(f"{count:.0f}" for count in point["by degree"])
            rows.append(
                [
                    name,
                    method,
                    f"{point['polynomials']:.0f} = {by_degree}",
                    f"{point['AUC']:.1f}",
                    f"{best['AUC']:.1f} with {best['polynomials']:.0f}",
                ]
            )
    return page.table(["set", "method", "polynomials, by degree", "AUC", "best AUC"], rows)


def _claims(results):
    rows = []
    for name in SETS:
        if equal_auc(results, name) is None:
            continue
        ours = {method: fewest(results, name, method)["polynomials"] for method in METHODS}
        for published, normalized in product(list(METHODS)[:2], list(METHODS)[2:]):
            why = f"{ours[normalized]:.0f} against {ours[published]:.0f}"
            claim = f"{name}: {normalized} needs fewer than {published}"
            rows.append(page.check(claim, ours[normalized] < ours[published], why))
    return page.table(["the paper's claim", "holds?"], rows) if rows else ""
