"""
Accounts: the laws of a table, and the two cells that break them
================================================================

This is a table of accounts for five years, by month. Two numbers were typed wrong. We do not say
which columns belong together, or that anything is wrong: the table itself shows it.
"""

# sphinx_gallery_thumbnail_path = "_static/thumbnails/accounts.png"

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt

from vanishing import discover

# A gallery runs this in its folder, and not as a file.
here = Path(__file__).parent if "__file__" in globals() else Path()
table = pd.read_csv(here / "data" / "accounts.csv", index_col="month")
table.head()

# %%
# Laws
# ----
# ``discover`` finds the short equations that nearly all rows satisfy. A few wrong cells do not hide
# them.

laws = discover(table)
print(laws)

# %%
# Broken cells
# ------------
# ``check`` finds the cell that breaks laws, and the value that would restore all of them. One wrong
# cell may break several laws; the other laws tell whether a sum or one of its parts is wrong.

findings = laws.check(table)
print(findings)

# %%
# As a frame, which can be used to correct the table:

frame = findings.to_frame()
frame[["row", "cell", "value", "fix", "probability"]]

# %%

corrected = table.copy()
for finding in frame.itertuples():
    corrected.loc[finding.row, finding.cell] = finding.fix
assert len(laws.check(corrected).to_frame()) == 0
assert {(f.row, f.cell) for f in frame.itertuples()} == {
    ("2021-05", "costs"),
    ("2023-06", "profit"),
}

# %%
# The figure shows how far each month is off, law by law. Two months stand out, and the laws that
# they break show which cell is wrong: costs are in both sums, profit is in one.

residuals = laws.residuals(table)
n_laws = len(laws.equations)
figure, axes = plt.subplots(n_laws, figsize=(8, 4.4), sharex=True, layout="constrained")
for axis, law, values in zip(axes, laws.equations, residuals.to_numpy().T, strict=True):
    broken = np.abs(values) > 1
    axis.vlines(np.arange(len(table))[~broken], 0, values[~broken], color="#B0B0B0")
    axis.axhline(0, color="#B0B0B0", lw=1)
    axis.plot(np.flatnonzero(broken), values[broken], "o", color="#D55E00", ms=8)
    for month in np.flatnonzero(broken):
        axis.annotate(
            table.index[month],
            (month, values[month]),
            xytext=(8, 0),
            textcoords="offset points",
            va="center",
            color="#A33E00",
        )
    axis.set_title(str(law), loc="left", fontsize=10.5)
    axis.set_ylabel("off by")
    axis.margins(y=0.3)
    axis.spines[["top", "right"]].set_visible(False)
axes[-1].set_xticks(range(0, 60, 12), table.index[::12])
figure.suptitle("Residuals of the laws: two months break them")
plt.show()

# %%
# Missing cells
# -------------
# Missing cells are filled in if the laws allow only one value.

gaps = corrected.astype(float)
gaps.loc["2022-03", "sales"] = np.nan
gaps.loc["2022-07", ["wages", "rent"]] = np.nan
print(laws.check(gaps))

# %%
# The first is filled in. The other two are in only one law, which cannot determine both of them, so
# they are not filled in.
