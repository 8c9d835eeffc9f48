"""Dask arrays: the same ideal on any scheduler, lazily, whatever the blocks look like."""

import cloudpickle
import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.utils import parse_bytes
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.cases import NORMALIZATIONS, counts

from vanishing import VanishingIdeal
from vanishing.data import ConcatenatedSource, DaskSource, MappedSource, as_source, write
from vanishing.data.dask import WARN_OF_LARGE_GRAPHS, _large_graphs_allowed, _merge_all


def write_features(ideal, X, path, **options):
    names = ideal.get_feature_names_out()
    write(ideal.transform(X, **options), path, column_names=names)


@pytest.fixture(autouse=True)
def threads():
    """The scheduler that Dask uses where there is no cluster; two threads show races."""
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def surface(n_samples=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 3))
    X[:, 2] = X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(n_samples)
    return X


def as_dask(X, sizes=(100, 1, 150, 49)):
    return da.from_array(X, chunks=(tuple(sizes), X.shape[1]))


def with_empty_blocks(X):
    return as_dask(X, (0, 10, 0, 0, X.shape[0] - 10, 0))


def with_unknown_sizes(X):
    array = as_dask(X)
    return array[array[:, 0] < 1e9]


def of_tensors(X):
    return as_dask(X).map_blocks(pytest.importorskip("torch").asarray)


BLOCKS = {
    "several": as_dask,
    "one": lambda X: as_dask(X, (len(X),)),
    "rows one by one": lambda X: as_dask(X, (1,) * len(X)),
    "empty ones": with_empty_blocks,
    "unknown sizes": with_unknown_sizes,
    "tensors": of_tensors,
    "persisted": lambda X: as_dask(X).persist(),
    "frame": lambda X: dd.from_pandas(pd.DataFrame(X, columns=list("abc")), npartitions=3),
    "source": lambda X: as_source(as_dask(X)),
    "mapped source": lambda X: MappedSource(as_source(as_dask(2 * X)), lambda x: x / 2),
    "concatenated source": lambda X: ConcatenatedSource(
        [as_source(as_dask(X[:200], (150, 50))), as_source(X[200:])]
    ),
}


def fit(X, contrast=None, **parameters):
    parameters = {"max_degree": 3, "tol": 0.3} | parameters
    if contrast is not None:
        parameters["normalization"] = "contrastive"
    return VanishingIdeal(**parameters).fit(X, contrast=contrast)


def assert_same(ideal, expected):
    assert counts(ideal) == counts(expected)
    assert expected.basis_.count() > 1
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-10)
    points = surface(40, seed=7)
    wanted = expected.basis_.evaluate(points)
    scale = np.abs(wanted).max(axis=0)
    assert np.max(np.abs(ideal.basis_.evaluate(points) - wanted) / scale) < 1e-8


@pytest.mark.parametrize("kind", BLOCKS)
def test_same_ideal_whatever_the_blocks(kind):
    X, Y = surface(), 2 * surface(300, seed=1)[:, ::-1]
    expected = fit(X, Y)
    assert_same(fit(BLOCKS[kind](X), BLOCKS[kind](Y)), expected)
    assert_same(fit(X, BLOCKS[kind](Y)), expected)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("reduction", ["tsqr", "gram"])
def test_same_ideal_under_every_normalization(normalization, reduction):
    X = surface()
    Y = 2 * surface(seed=1)[:, ::-1] if normalization == "contrastive" else None
    parameters = {"max_degree": 3, "tol": 0.3, "reduction": reduction}
    ideal = VanishingIdeal(normalization=normalization, **parameters)
    there = ideal.fit(as_dask(X), contrast=None if Y is None else as_dask(Y)).extents_
    here = ideal.fit(X, contrast=Y).extents_
    np.testing.assert_allclose(there, here, rtol=1e-10 if reduction == "tsqr" else 1e-7)


@pytest.mark.parametrize("construction", ["abm", "abm-gradient", "oavi"])
def test_same_border_basis(construction):
    X = surface()
    ideal = VanishingIdeal(construction=construction, max_degree=3, tol=0.2)
    expected = ideal.fit(X).order_ideal_, ideal.transform(X)
    for make in (as_dask, with_empty_blocks, with_unknown_sizes):
        ideal.fit(make(X))
        np.testing.assert_array_equal(ideal.order_ideal_.terms, expected[0].terms)
        np.testing.assert_allclose(ideal.transform(X), expected[1], atol=1e-9)


@settings(max_examples=15)
@given(cuts=st.lists(st.integers(0, 120), max_size=40))
def test_same_ideal_for_any_tree(cuts):
    X = surface(120)
    sizes = np.diff([0, *sorted(cuts), 120]).tolist()
    assert_same(fit(as_dask(X, sizes)), fit(X))


def test_blocks_are_merged_in_order():
    """Whatever the number of leaves, neighbours are merged, and the first comes first."""
    for n_blocks in (1, 7, 8, 9, 64, 65, 130):
        X = np.arange(float(n_blocks))[:, None]
        source = as_source(as_dask(X, (1,) * n_blocks))
        joined = source.map_reduce(lambda x: x[:, 0].tolist(), list.__add__, max_rows=10)
        assert joined == X[:, 0].tolist()


def test_summaries_are_merged_in_a_tree(monkeypatch):
    """No task gets more than four summaries, however many blocks there are."""
    merged = []

    def watched(summaries, packed):
        merged.append(len(summaries))
        return _merge_all(summaries, packed)

    monkeypatch.setattr("vanishing.data.dask._merge_all", watched)
    source = as_source(as_dask(np.ones((100, 1)), (1,) * 100))
    assert source.map_reduce(len, int.__add__, max_rows=10) == 100
    assert sorted(merged) == [1, 2, 3] + [4] * 32


def test_basis_is_in_one_task_of_a_pass(monkeypatch):
    """So that it is sent to each worker once, and not with each block."""
    graphs = []
    compute = DaskSource._compute

    def watched(self, root, n_bytes):
        graphs.append((dict(root.__dask_graph__()), n_bytes))
        return compute(self, root, n_bytes)

    monkeypatch.setattr(DaskSource, "_compute", watched)
    blocks = da.random.default_rng(0).standard_normal((3000, 9), chunks=(100, 9))
    VanishingIdeal(max_degree=2, tol=0.0).fit(blocks)
    for graph, n_bytes in graphs:
        sizes = sorted(len(cloudpickle.dumps(task)) for task in graph.values())
        assert len(sizes) > 30
        assert sizes[-1] > n_bytes > 2 * sizes[-2]


def test_long_blocks_are_worked_on_in_parts():
    source = as_source(as_dask(surface(), (300,)))
    sizes = source.map_reduce(lambda x: [len(x)], list.__add__, max_rows=70)
    assert sizes == [70, 70, 70, 70, 20]


def test_same_bits_every_time():
    array = as_dask(surface(), (10,) * 30)
    first, second = fit(array), fit(array)
    np.testing.assert_array_equal(first.extents_, second.extents_)
    for one, other in zip(first.basis_.blocks, second.basis_.blocks, strict=True):
        np.testing.assert_array_equal(one.nonvanishing, other.nonvanishing)


def test_kernel_holds_no_data():
    """What is sent to workers is the basis, not the points, for every pass of every degree."""
    sizes = []

    class Watched(DaskSource):
        def map_reduce(self, kernel, merge, *, max_rows, weights=None):
            sizes.append(len(cloudpickle.dumps((kernel, merge))))
            return super().map_reduce(kernel, merge, max_rows=max_rows, weights=weights)

    X = np.random.default_rng(0).standard_normal((20_000, 3))  # half a megabyte
    Y = X[:10_000] * 2
    for normalization in NORMALIZATIONS:
        ideal = VanishingIdeal(max_degree=3, tol=0.0, normalization=normalization)
        ideal.fit(
            Watched(da.from_array(X, chunks=(5000, 3))),
            contrast=Watched(da.from_array(Y)) if normalization == "contrastive" else None,
        )
    VanishingIdeal(max_degree=22, tol=0.0).fit(Watched(da.from_array(X[:500, :1])))
    assert len(sizes) > 20
    assert max(sizes) < 60_000


# --- lazy answers --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["several", "empty ones", "unknown sizes", "tensors", "frame"])
@pytest.mark.parametrize("output", ["abs", "signed"])
def test_transform_answers_lazily(kind, output):
    X = surface()
    data = BLOCKS[kind](X)
    ideal = fit(data).set_params(output=output)
    features = ideal.transform(data)
    assert isinstance(features, da.Array)
    assert features.shape[1] == ideal.basis_.count()
    expected = ideal.basis_.evaluate(X)
    expected = expected if output == "signed" else np.abs(expected)
    if kind == "tensors":  # which Dask itself does not know how to join
        torch = pytest.importorskip("torch")
        assert isinstance(features._meta, torch.Tensor)
        found = torch.cat(dask.compute(*features.to_delayed().ravel())).numpy()
    else:
        found = features.compute()
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)
    if kind == "several":
        assert features.chunks == ((100, 1, 150, 49), (ideal.basis_.count(),))


@pytest.mark.parametrize("kind", ["several", "tensors"])
@pytest.mark.parametrize(("columns", "n_dimensions"), [(2, 2), (None, 1)])
def test_dask_knows_the_dimensions_of_answers(kind, columns, n_dimensions):
    """Before anything is computed: what is made of them, as a concatenation, relies on it."""
    answers = as_source(BLOCKS[kind](surface())).map_rows(
        lambda x: x[:, :2] if columns else x[:, 0], columns
    )
    assert answers.ndim == answers._meta.ndim == n_dimensions
    (first,) = dask.compute(answers.to_delayed().ravel()[0])
    assert first.ndim == n_dimensions
    assert isinstance(answers._meta, type(first))


def test_precision_is_that_of_the_blocks():
    X = surface().astype(np.float32)
    features = fit(X).transform(as_dask(X))
    assert features.dtype == features.compute().dtype == np.float32
    assert fit(X).transform(as_dask(X.astype(int))).dtype == np.float64


def test_features_of_a_cluster_are_written_block_by_block(tmp_path):
    X = surface()
    ideal = fit(X)
    write_features(ideal, as_dask(X), tmp_path / "g.npy")
    np.testing.assert_allclose(np.load(tmp_path / "g.npy"), ideal.transform(X), rtol=1e-12)


def test_names_of_a_frame_are_learned():
    ideal = fit(BLOCKS["frame"](surface()))
    assert ideal.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match=r"X has columns \['a', 'c', 'b'\]"):
        ideal.transform(BLOCKS["frame"](surface())[["a", "c", "b"]])


# --- bad input -----------------------------------------------------------------------------------


def test_arrays_that_cannot_be_used():
    X = surface()
    with pytest.raises(ValueError, match=r"columns of X are split over 3 blocks.*rechunk.*1: -1"):
        fit(da.from_array(X, chunks=(100, 1)))
    with pytest.raises(ValueError, match="contrast must be 2-D"):
        fit(X, da.from_array(X[:, 0]))
    with pytest.raises(ValueError, match="at least one row"):
        fit(da.from_array(X[:0]))
    with pytest.raises(ValueError, match="X has no rows: at least one row"):
        fit(as_dask(X)[as_dask(X)[:, 0] > 1e9])
    unknown = da.from_delayed(dask.delayed(lambda: X)(), (300, np.nan), dtype=float)
    with pytest.raises(ValueError, match=r"unknown width.*compute_chunk_sizes"):
        fit(unknown)
    with pytest.raises(ValueError, match=r"X must hold real numbers.*complex128"):
        fit(as_dask(X + 1j))
    mixed = pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]})
    with pytest.raises(ValueError, match=r"real numbers, but the columns \['b'\]"):
        fit(dd.from_pandas(mixed, npartitions=1))
    with pytest.raises(ValueError, match=r"X has 2 features, but VanishingIdeal is expecting 3"):
        fit(X).transform(as_dask(X[:, :2]))


def damaged(rows, block_id=None):
    if block_id[0] == 57:
        raise OSError("disk on fire")
    return rows


def narrowed(rows, block_id=None):
    return rows[:, :2] if block_id[0] == 57 else rows


def holed(rows, block_id=None):
    return np.where(np.eye(*rows.shape), np.nan, rows) if block_id[0] == 57 else rows


BAD = {
    "I/O": (damaged, OSError, "could not be computed: OSError: disk on fire"),
    "width": (narrowed, ValueError, "has 2 features, expected 3"),
    "NaN": (holed, ValueError, "contains NaN in 3 entries"),
}


@pytest.mark.parametrize("what", BAD)
def test_failing_block_is_named_and_the_estimator_is_left_as_it_was(what, tmp_path):
    function, kind, words = BAD[what]
    X = surface()
    bad = as_dask(X, (5,) * 60).map_blocks(function, dtype=float, meta=np.empty((0, 0)))
    ideal = fit(X)
    state = dict(vars(ideal))
    with pytest.raises(kind, match=rf"chunk 57 \(rows 285 to 289\) of X {words}"):
        ideal.fit(bad)
    assert vars(ideal) == state
    with pytest.raises(kind, match=rf"chunk 57 .*of X .*{words.partition(': ')[2] or words}"):
        write_features(ideal, bad, tmp_path / "g.npy")
    assert not list(tmp_path.iterdir())
    if what != "I/O":
        with pytest.raises(kind, match="chunk 57 of X"):
            ideal.transform(bad).compute()


def test_warnings_of_large_graphs_are_as_they_were():
    before = dask.config.get(WARN_OF_LARGE_GRAPHS, None)
    fit(as_dask(surface()))
    assert dask.config.get(WARN_OF_LARGE_GRAPHS, None) == before
    assert parse_bytes("10MB") == 10_000_000


@pytest.mark.parametrize("wrap", [as_dask, with_empty_blocks, with_unknown_sizes, of_tensors])
@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_weights_go_to_the_rows(wrap, normalization, monkeypatch):
    def no_rows_travel(self):
        raise AssertionError("rows were fetched")

    monkeypatch.setattr(DaskSource, "_read", no_rows_travel)
    X = surface()
    weights = np.arange(len(X)) % 4
    weights[100:260] = 0  # whole blocks do not count
    Y = np.random.default_rng(1).standard_normal((200, 3))
    given_x, given_y = {}, {}
    if normalization == "contrastive":
        of_y = np.arange(200) % 3
        given_x = {"contrast": as_source(as_dask(Y, (150, 50)), weights=of_y)}
        given_y = {"contrast": np.repeat(Y, of_y, axis=0)}
    ideal = VanishingIdeal(tol=0.3, normalization=normalization)
    expected = ideal.fit(np.repeat(X, weights, axis=0), **given_y)
    extents, found = expected.extents_, counts(expected)
    ideal.fit(wrap(X), sample_weight=weights, **given_x)
    assert counts(ideal) == found
    np.testing.assert_allclose(ideal.extents_, extents, rtol=1e-9, atol=1e-13)
    with pytest.raises(ValueError, match="there are 299 weights, but X has 300 rows"):
        ideal.fit(wrap(X), sample_weight=weights[1:], **given_x)


def test_no_warning_of_what_is_in_the_graph_on_purpose():
    """A basis, and weights, however large they are."""
    pytest.importorskip("distributed")
    import distributed  # noqa: F401

    usual = parse_bytes(dask.config.get(WARN_OF_LARGE_GRAPHS))
    with _large_graphs_allowed(10**9):
        assert dask.config.get(WARN_OF_LARGE_GRAPHS) >= usual + 10**9
    assert parse_bytes(dask.config.get(WARN_OF_LARGE_GRAPHS)) == usual


def test_numbers_of_rows():
    """Dask does not know how many rows a condition leaves."""
    array = da.from_array(np.arange(60.0).reshape(20, 3), chunks=(8, 3))
    assert as_source(array).n_samples == 20
    assert as_source(array[array[:, 0] >= 30]).n_samples == 10
