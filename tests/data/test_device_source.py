"""Rows moved to a device block by block; here the device is the processor."""

import numpy as np
import pytest

from vanishing import VanishingIdeal
from vanishing.data import DeviceSource, as_source

torch = pytest.importorskip("torch")


def points():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    X[:, 2] = X[:, 0] * X[:, 1]
    return X, rng.standard_normal((300, 3))


@pytest.mark.parametrize(
    "wrap",
    [
        lambda X: X,
        lambda X: [X[:100], X[100:]],
        lambda X: torch.asarray(X).requires_grad_(),
    ],
    ids=["array", "chunks", "tensor with gradient"],
)
def test_same_as_the_data_itself(wrap, monkeypatch):
    monkeypatch.setattr("vanishing.data.streams.BLOCK", 200)
    X, Y = points()
    ideal = VanishingIdeal(max_degree=2, tol=0.3, normalization="contrastive")
    expected = ideal.fit(X, contrast=Y).extents_
    ideal.fit(DeviceSource(wrap(X), "cpu"), contrast=DeviceSource(wrap(Y), "cpu"))
    np.testing.assert_allclose(ideal.extents_, expected, rtol=1e-9, atol=1e-14)


def test_blocks():
    X, _ = points()
    source = DeviceSource(X, "cpu", dtype="float32")
    blocks = list(source.blocks(128))
    assert [len(block) for block in blocks] == [128, 128, 128, 116]
    assert all(block.dtype == torch.float32 for block in blocks)
    np.testing.assert_array_equal(torch.cat(blocks).numpy(), X.astype(np.float32))
    assert (source.n_samples, source.n_features, source.cpu) == (500, 3, True)


def test_refusals():
    X, _ = points()
    with pytest.raises(ValueError, match="dtype must be"):
        DeviceSource(X, "cpu", dtype="int8")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="torch sees no CUDA device"):
            DeviceSource(X, "cuda")


def test_names_of_columns(tmp_path):
    X, _ = points()
    np.savetxt(tmp_path / "x.csv", X, delimiter=",", header="a,b,c", comments="")
    ideal = VanishingIdeal().fit(DeviceSource(tmp_path / "x.csv", "cpu"))
    assert list(ideal.feature_names_in_) == ["a", "b", "c"]
    other = as_source(tmp_path / "x.csv", columns=["c", "b", "a"])
    with pytest.raises(ValueError, match="fitted to"):
        ideal.transform(DeviceSource(other, "cpu"))
