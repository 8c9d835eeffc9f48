"""GOAD, the deep detector that the paper compares with.

Written from the published description alone: L. Bergman and Y. Hoshen, "Classification-Based
Anomaly Detection for General Data", ICLR 2020; for the transformations and the training also
I. Golan and R. El-Yaniv, "Deep Anomaly Detection Using Geometric Transformations", NeurIPS 2018,
which they build on; for the network S. Zagoruyko and N. Komodakis, "Wide Residual Networks", BMVC
2016. Comments say what comes from there and what is our choice.
"""

from experiments.images.goad.detector import GOAD

__all__ = ["GOAD"]
