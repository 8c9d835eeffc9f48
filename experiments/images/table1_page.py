"""The text of Table 1: ours beside the paper's, what was chosen, what was aimed at."""

import numpy as np
from experiments.harness import page
from experiments.images.setting import FIXED, Setting
from scipy.stats import spearmanr

#: The paper's figures: set, training images, method.
PAPER = {
    ("MNIST", 60_000): {"GOAD": 76.2, "VCA": 51.8, "nVCA": 49.1, "Rot.": 79.1, "R.A.": 54.9},
    ("MNIST", 10_000): {"VCA": 48.4, "nVCA": 50.7, "Rot.": 50.2, "R.A.": 59.1},
    ("Fashion-MNIST", 60_000): {
        "GOAD": 93.5,
        "VCA": 50.2,
        "nVCA": 51.7,
        "Rot.": 83.8,
        "R.A.": 53.3,
    },
    ("Fashion-MNIST", 10_000): {"VCA": 53.9, "nVCA": 46.2, "Rot.": 82.3, "R.A.": 49.3},
}
#: Row of our table: the paper's column, name of the cells, key in their results.
ROWS = {
    "GOAD": ("GOAD", "GOAD, seed", ()),
    "VCA": ("VCA", "VCA, seed", ()),
    "nVCA": ("nVCA", "nVCA, seed", ()),
    "Rot., chosen without labels": ("Rot.", "Rot., chosen, seed", ()),
    f"Rot., {FIXED}": ("Rot.", "Rot., fixed, seed", ()),
    "Rot., the same with the paper's descent": ("Rot.", "Rot., fixed with descent", ()),
    "R.A. in PCA coordinates, setting chosen for Rot.": (
        "R.A.",
        "R.A., seed",
        ("chosen, in PCA coordinates",),
    ),
    "R.A. on pixels, setting chosen for Rot.": ("R.A.", "R.A., seed", ("chosen, on pixels",)),
    f"R.A. in PCA coordinates, {FIXED}": ("R.A.", "R.A., seed", ("fixed, in PCA coordinates",)),
    f"R.A. on pixels, {FIXED}": ("R.A.", "R.A., seed", ("fixed, on pixels",)),
    "no polynomials: far from the mean is normal": ("", "distance, seed", ()),
}
#: With all images and settings chosen without labels, in points.
AIM, AIM_ABOVE_RANDOM = 88.0, 10.0


def write(results, choices):
    """Return the text.

    Parameters
    ----------
    results : mapping
    choices : mapping
        For each set and number of images the chosen row of the grid, or None, and all rows.
    """
    return f"""Labels 0, 2, 4, 6, 8 are normal. AUC × 100 on the 10,000 test images, ours with the
paper's figure in brackets; mean ± standard deviation over five seeds (three for GOAD). A seed draws
which 10,000 of the 60,000 images are used (seed 0: the first), the random maps, and the weights of
the network. With 60,000 images nothing is random in VCA, nVCA and Rot., so there is one run.

{_main_table(results, choices)}

**Why they differ.** {WHY}

{_lowest(choices)}

**Choice of the setting.** For Rot. a fifth of the normal training images was held out, 60 settings
(dimension and degree, tolerance, weights) were compared by their mean score (`detector.score`), and
the best one was fitted to all normal images; for 10,000 images the choice is that of the first
ones. No labels were used. The AUCs of the grid show how good the choice is:

{_choice_table(choices)}

{_checks(results, choices)}

{_cost(results, choices)}
"""


WHY = """The paper does not say how many principal components or which tolerance it used, so its
figures cannot be computed again exactly.

* *Rot.* is higher than in the paper, most of all with 10,000 images of MNIST, where the paper is at
  chance level (the lowest AUC of our grid is below). Our polynomials solve the same eigenproblem
  without an added ridge and are normalized exactly; c_i is the mean over T_i x (the paper writes x,
  which would be wrong); the degree is up to 2 in 10 to 50 dimensions and up to 4 in 10, where the
  paper has up to 4.
* *R.A.* depends on the space, which the paper does not name. In PCA coordinates random maps are
  told apart best where an image is far from the mean, whatever it shows, so the score says
  little more than this distance: the last row of the table, in which images far from the mean of
  the normal ones count as normal, has nearly the AUC of the chosen setting. Odd digits are nearer
  to the mean than even ones, odd garments are farther; that is why Fashion-MNIST is below 50. On
  pixels the maps act before PCA, and the components that PCA keeps of all copies differ more.
* *VCA and nVCA* here have 10 principal components, degree up to 4, at most 55 nonvanishing
  polynomials per degree (all of degree 2), and the tolerance, out of three multiples of the
  smallest spread, that tells held-out normal images best from images with permuted coordinates. The
  paper says neither. If a tight tolerance leaves out polynomials of low degree, the others
  sometimes still discriminate.
* *GOAD* is our own implementation of the published description; the paper ran the authors' code,
  and has no figure for 10,000 images."""


def _lowest(choices):
    """Say how bad a setting can be, since the paper's may be any."""
    parts = []
    for (name, n_images), (_, compared) in choices.items():
        known = [row for row in compared if row["AUC"] is not None]
        if known:
            row = min(known, key=lambda one: one["AUC"])
            parts.append(f"{name} {n_images:,}: {row['AUC']:.1f} ({Setting(**row['setting'])})")
    return f"Lowest Rot. of the grid: {'; '.join(parts)}." if parts else ""


def values(results, here, cells, keys):
    """Return the AUCs of all seeds that have been run, in the order of the seeds."""
    found = []
    for name in sorted(results):
        if name.startswith(f"{here}, {cells}"):
            result = results[name]
            for key in keys:
                result = result.get(key, {})
            found.append(result.get("AUC"))
    return found


def _main_table(results, choices):
    head = ["", *(f"{name} {n_images:,}" for name, n_images in choices)]
    rows = []
    for title, (column, cells, keys) in ROWS.items():
        row = [title]
        for name, n_images in choices:
            ours = page.spread(values(results, f"{name}, {n_images:,}", cells, keys))
            row.append(page.beside(ours, PAPER.get((name, n_images), {}).get(column)))
        rows.append(row)
    return page.table(head, rows)


def _choice_table(choices):
    rows = []
    for (name, n_images), (row, compared) in choices.items():
        if row is None:
            continue
        known = [one for one in compared if one["held-out score"] is not None]
        rows.append(
            [
                f"{name} {n_images:,}",
                Setting(**row["setting"]),
                f"{row['held-out score']:.2f}",
                row["AUC"],
                max(one["AUC"] for one in known),
                _rank_correlation(known),
                f"{len(known)} of {len(compared)}",
            ]
        )
    head = ["", "chosen", "held-out score", "its AUC", "best AUC of the grid", "Spearman", "fitted"]
    return (
        page.table(head, rows)
        + "\n\nAUCs of this table are of fits to four fifths. Spearman: rank correlation of "
        "held-out score and AUC. Settings that are not fitted have no polynomial below their "
        "tolerance."
    )


def _rank_correlation(rows):
    if len(rows) < 3:
        return "–"
    score = spearmanr([row["held-out score"] for row in rows], [row["AUC"] for row in rows])
    return f"{score.statistic:.2f}"


def _checks(results, choices):
    rows = []
    for name, n_images in choices:
        here = f"{name}, {n_images:,}"
        rotations = _mean(results, here, "Rot., chosen, seed", ())
        same = _mean(results, here, "Rot., fixed, seed", ())
        if rotations is not None and n_images == max(size for _, size in choices):
            claim = f"{name}, {n_images:,}: Rot. at least {AIM:.0f}"
            rows.append(page.check(claim, rotations >= AIM, f"{rotations:.1f}"))
        for kind, ours in (("chosen", rotations), ("fixed", same)):
            for place in ("in PCA coordinates", "on pixels"):
                random = _mean(results, here, "R.A., seed", (f"{kind}, {place}",))
                if ours is not None and random is not None:
                    claim = f"{here}: R.A. {place}, {kind} setting, at least 10 points below Rot."
                    holds = random <= ours - AIM_ABOVE_RANDOM
                    rows.append(page.check(claim, holds, f"{random:.1f} against {ours:.1f}"))
    return page.table(["aimed at", "holds?"], rows) if rows else ""


def _mean(results, here, cells, keys):
    known = [value for value in values(results, here, cells, keys) if value is not None]
    return float(np.mean(known)) if known else None


def _cost(results, choices):
    parts = []
    for name, n_images in choices:
        here = f"{name}, {n_images:,}, Rot., chosen"
        for cell, where in (("seed 0", "accelerator"), ("no accelerator", "two cores")):
            if one := results.get(f"{here}, {cell}"):
                device = f", {one['device MB']} MB on the device" if "device MB" in one else ""
                parts.append(
                    f"* {name} {n_images:,}, {where}: {one['fit s']:.1f} s to fit, "
                    f"{one['score s']:.1f} s to score, {one.get('peak MB', '–')} MB{device}"
                )
    listed = "\n".join(parts)
    return f"Cost of the chosen Rot.:\n\n{listed}" if parts else ""
