"""Rows may come in any way: one array, chunks of any size, a memory map, in any order."""

import tracemalloc
from functools import cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from tests.support.cases import NORMALIZATIONS, REDUCTIONS, counts, gaussian_contrast, tensor

from vanishing import VanishingIdeal
from vanishing.data import (
    ArraySource,
    ChunkSource,
    ConcatenatedSource,
    MappedSource,
    SampleSource,
    as_source,
)
from vanishing.data.source import WeightedSource, sample_rows

EVERY = pytest.mark.parametrize("normalization", NORMALIZATIONS)
BOTH = pytest.mark.parametrize("reduction", REDUCTIONS)


def surface(n_samples=300, seed=0):
    """A noisy surface in three dimensions: extents are separated."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 3)) * [1.0, 0.8, 1.0]
    X[:, 2] = X[:, 0] * X[:, 1] + 0.3 * X[:, 0] + 0.1 * rng.standard_normal(n_samples)
    return X


NEW = np.random.default_rng(9).standard_normal((50, 3))


def fit(X, normalization, reduction, *, contrast=None):
    if normalization == "contrastive" and contrast is None:
        contrast = gaussian_contrast(surface())
    ideal = VanishingIdeal(max_degree=3, tol=0.3, normalization=normalization, reduction=reduction)
    return ideal.fit(X, contrast=contrast)


@cache
def whole(normalization, reduction, n_samples=300):
    """The ideal of the surface in one array."""
    return fit(surface(n_samples), normalization, reduction)


def assert_same(ideal, expected, rtol=1e-9):
    """Equal counts; evaluations equal up to sign, relative to the size of each polynomial."""
    assert expected.basis_.count("vanishing") > 1
    assert counts(ideal) == counts(expected)
    np.testing.assert_allclose(ideal.extents_, expected.extents_, rtol=1e-8)
    values, wanted = ideal.transform(NEW), expected.transform(NEW)
    size = np.sqrt(np.mean(wanted**2, axis=0))
    assert np.max(np.abs(values - wanted) / size) <= rtol


def split(X, sizes):
    return np.split(X, np.cumsum(sizes)[:-1])


def as_memory_map(X, folder):
    mapped = np.memmap(folder / "rows", dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    mapped.flush()
    return np.memmap(folder / "rows", dtype=X.dtype, mode="r", shape=X.shape)


class Rows:
    """Any re-iterable that is no list."""

    def __init__(self, *chunks):
        self.chunks = chunks

    def __iter__(self):
        return iter(self.chunks)


SIZES = [100, 1, 150, 49]

#: Ways to hand over the rows of an array.
WAYS = {
    "list of chunks": lambda X, folder: split(X, SIZES),
    "tuple of chunks": lambda X, folder: tuple(split(X, SIZES)),
    "one chunk": lambda X, folder: [X],
    "frames": lambda X, folder: [pd.DataFrame(part) for part in split(X, SIZES)],
    "rows one by one": lambda X, folder: list(X[:, None, :]),
    "empty chunks between": lambda X, folder: [X[:0], *split(X, [7, 0, 293]), X[:0]],
    "callable": lambda X, folder: lambda: iter(split(X, SIZES)),
    "callable that returns lists": lambda X, folder: lambda: [c.tolist() for c in split(X, SIZES)],
    "callable that returns frames": lambda X, folder: lambda: map(pd.DataFrame, split(X, SIZES)),
    "re-iterable": lambda X, folder: Rows(*split(X, SIZES)),
    "memory map": as_memory_map,
    "chunks of a memory map": lambda X, folder: split(as_memory_map(X, folder), SIZES),
    "array source": lambda X, folder: ArraySource(X),
    "chunk source": lambda X, folder: ChunkSource(split(X, SIZES)),
    "mapped source": lambda X, folder: MappedSource(as_source(2 * X), lambda x: x / 2),
    "concatenated source": lambda X, folder: ConcatenatedSource(
        [ArraySource(X[:120]), as_source(split(X[120:], [100, 80]))]
    ),
    "any row order": lambda X, folder: np.random.default_rng(5).permutation(X),
    "rows backwards in chunks": lambda X, folder: split(X[::-1], SIZES),
    "rows given twice": lambda X, folder: np.repeat(X, 2, axis=0),
    "chunks given twice": lambda X, folder: [X, X],
}


@EVERY
@BOTH
@pytest.mark.parametrize("way", WAYS)
def test_same_ideal_however_the_rows_come(way, reduction, normalization, tmp_path):
    ideal = fit(WAYS[way](surface(), tmp_path), normalization, reduction)
    assert_same(ideal, whole(normalization, reduction))


@BOTH
@pytest.mark.parametrize("way", WAYS)
def test_same_ideal_however_the_contrast_comes(way, reduction, tmp_path):
    X = surface()
    Y = gaussian_contrast(X, n_samples=300)
    expected = fit(X, "contrastive", reduction, contrast=Y)
    ideal = fit(X, "contrastive", reduction, contrast=WAYS[way](Y, tmp_path))
    assert_same(ideal, expected)


@st.composite
def chunk_sizes(draw, total=120):
    cuts = draw(st.lists(st.integers(0, total), max_size=12))
    return np.diff([0, *sorted(cuts), total]).tolist()


@EVERY
@settings(max_examples=15)
@given(sizes=chunk_sizes(), swap=st.randoms(use_true_random=False))
def test_same_ideal_for_any_chunk_sizes_and_row_order(normalization, sizes, swap):
    X = surface(120)
    order = list(range(120))
    swap.shuffle(order)
    for reduction in REDUCTIONS:
        ideal = fit(split(X[order], sizes), normalization, reduction)
        assert_same(ideal, whole(normalization, reduction, 120))


@pytest.mark.parametrize("n_last", [1, 2, 5])
def test_chunks_of_tensors_with_a_short_last_one(n_last):
    X = surface()
    chunks = [tensor(c) for c in split(X, [300 - n_last, n_last])]
    assert_same(fit(chunks, "gradient", "tsqr"), whole("gradient", "tsqr"))


@EVERY
def test_known_counts_survive_chunks_shorter_than_the_number_of_candidates(normalization):
    angle = np.random.default_rng(2).uniform(0, 2 * np.pi, 40)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    contrast = gaussian_contrast(circle) if normalization == "contrastive" else None
    ideal = VanishingIdeal(max_degree=3, tol=0.0, normalization=normalization)
    ideal.fit(split(circle, [3] * 13 + [1]), contrast=contrast)
    assert [step.nonvanishing for step in ideal.trace_] == [2, 2, 2]
    assert ideal.extents_.max() <= 1e-14


# --- transform -----------------------------------------------------------------------------------


@EVERY
def test_row_alone_gives_the_same_as_in_a_batch_of_a_thousand(normalization):
    ideal = fit(surface(), normalization, "tsqr")
    batch = surface(1000, seed=3)
    together = ideal.transform(batch)
    size = np.max(together, axis=0)
    for row in (0, 1, 500, 998, 999):
        alone = ideal.transform(batch[row : row + 1])
        assert np.max(np.abs(alone[0] - together[row]) / size) <= 1e-12


@pytest.mark.parametrize("output", ["abs", "signed"])
@pytest.mark.parametrize("way", ["list of chunks", "callable", "re-iterable", "mapped source"])
def test_transformed_chunks_concatenate_to_the_transformed_array(way, output, tmp_path):
    X = surface()
    ideal = fit(X, "gradient", "tsqr").set_params(output=output)
    expected = ideal.transform(X)
    features = ideal.transform(WAYS[way](X, tmp_path))
    assert isinstance(features, SampleSource)
    assert features.n_features == expected.shape[1]
    assert features.n_samples == 300
    for max_rows in (1, 40, 10_000):
        blocks = list(features.blocks(max_rows))
        assert max(len(block) for block in blocks) <= max_rows
        np.testing.assert_allclose(np.vstack(blocks), expected, rtol=1e-10, atol=1e-13)


def test_transformed_chunks_are_computed_when_they_are_asked_for():
    read = []

    def chunks():
        for index, chunk in enumerate(split(surface(), SIZES)):
            read.append(index)
            yield chunk

    ideal = fit(surface(), "gradient", "tsqr")
    blocks = ideal.transform(chunks).blocks(1000)
    read.clear()
    next(blocks)
    blocks.close()
    assert max(read) <= 1  # the next one is read ahead


def test_transform_of_a_memory_map_is_an_array(tmp_path):
    X = surface()
    ideal = fit(X, "gradient", "tsqr")
    features = ideal.transform(as_memory_map(X, tmp_path))
    np.testing.assert_array_equal(features, ideal.transform(X))


def test_transformed_chunks_can_be_fitted_again():
    X = surface()
    ideal = fit(X, "gradient", "tsqr")
    parameters = {"max_degree": 1, "tol": 10.0}
    stacked = VanishingIdeal(**parameters).fit(ideal.transform(split(X, SIZES)))
    expected = VanishingIdeal(**parameters).fit(ideal.transform(X))
    np.testing.assert_allclose(stacked.extents_, expected.extents_, rtol=1e-8)


# --- sources themselves --------------------------------------------------------------------------


def test_array_source_and_concatenation_copy_nothing():
    first, second = surface(200), surface(100, seed=1)
    source = ConcatenatedSource([ArraySource(first), ArraySource(second)])
    blocks = list(source.blocks(70))
    assert [len(block) for block in blocks] == [70, 70, 60, 70, 30]
    assert all(np.shares_memory(block, first) for block in blocks[:3])
    assert all(np.shares_memory(block, second) for block in blocks[3:])
    assert (source.n_samples, source.n_features) == (300, 3)
    np.testing.assert_array_equal(np.vstack(blocks), np.vstack([first, second]))


def test_contrast_of_all_other_sets_takes_no_memory():
    parts = [ArraySource(np.ones((50_000, 4))) for _ in range(4)]
    tracemalloc.start()
    source = ConcatenatedSource(parts)
    n_rows = sum(len(block) for block in source.blocks(10_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert n_rows == 200_000
    assert peak < 100_000  # the rows are 6.4 MB


def test_source_can_be_read_again_and_again():
    X = surface()
    for source in (
        ArraySource(X),
        as_source(split(X, SIZES)),
        as_source(lambda: iter(split(X, SIZES))),
        MappedSource(ArraySource(X), lambda x: x),
        ConcatenatedSource([ArraySource(X[:10]), ArraySource(X[10:])]),
    ):
        for max_rows in (300, 11):
            np.testing.assert_array_equal(np.vstack(list(source.blocks(max_rows))), X)


def test_source_has_neither_length_nor_shape():
    source = as_source(surface())
    assert not hasattr(source, "__len__")
    assert not hasattr(source, "shape")
    assert as_source(source) is source


def test_map_reduce_goes_over_all_rows_in_order():
    X = surface()
    source = as_source(split(X, SIZES))
    joined = source.map_reduce(lambda x: [len(x)], lambda a, b: a + b, max_rows=60)
    assert joined == [60, 40, 1, 60, 60, 30, 49]
    total = source.map_reduce(lambda x: x.sum(axis=0), np.add, max_rows=60)
    np.testing.assert_allclose(total, X.sum(axis=0))


def test_mapped_source_may_change_the_width():
    source = MappedSource(ArraySource(surface()), lambda x: x[:, :2] ** 2)
    assert source.n_features == 2
    assert source.n_samples == 300
    ideal = VanishingIdeal(max_degree=1, tol=0.0).fit(source)
    assert ideal.n_features_in_ == 2


def test_integer_chunks_are_read_as_floating_point():
    X = np.random.default_rng(0).integers(0, 100, (60, 2)).astype(np.int8)
    blocks = list(as_source([X[:20], X[20:]]).blocks(50))
    assert [block.dtype for block in blocks] == [np.float64, np.float64]
    np.testing.assert_array_equal(np.vstack(blocks), X)


# --- cross-validation ----------------------------------------------------------------------------


class Recorder(VanishingIdeal):
    """Counts the rows it is fitted with, and has a score to be searched by."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y=None, *, contrast=None):
        self.seen.append((len(X), as_source(contrast).n_samples))
        return super().fit(X, contrast=contrast)

    def score(self, X, y=None):
        return -float(np.mean(self.transform(X)))


@pytest.fixture
def recorder():
    Recorder.seen = []
    return Recorder(max_degree=1, tol=0.9, normalization="contrastive")


def test_contrast_as_source_is_not_split_with_X(recorder):
    X = surface(90)
    contrast = gaussian_contrast(X, n_samples=90)  # as long as X
    cross_validate(recorder, X, cv=KFold(3), params={"contrast": as_source(contrast)})
    assert recorder.seen == [(60, 90)] * 3


def test_contrast_as_source_survives_a_grid_search(recorder):
    X = surface(90)
    contrast = gaussian_contrast(X, n_samples=90)
    search = GridSearchCV(recorder, {"tol": [0.8, 0.9]}, cv=KFold(3), error_score="raise")
    search.fit(X, contrast=as_source(contrast))
    assert recorder.seen == [(60, 90)] * 6 + [(90, 90)]
    best = clone(recorder).set_params(tol=search.best_params_["tol"]).fit(X, contrast=contrast)
    np.testing.assert_array_equal(search.transform(X), best.transform(X))


# --- memory --------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("normalization", ["gradient", "contrastive", "vca"])
def test_memory_of_a_fit_does_not_grow_with_the_number_of_chunks(normalization, reduction):
    n_chunks, shape = 200, (1000, 8)
    whole = n_chunks * 8 * shape[0] * shape[1]

    def chunks():
        for seed in range(n_chunks):
            yield np.random.default_rng(seed).standard_normal(shape)

    contrast = chunks if normalization == "contrastive" else None
    ideal = VanishingIdeal(max_degree=2, tol=0.0, normalization=normalization, reduction=reduction)
    tracemalloc.start()
    ideal.fit(chunks, contrast=contrast)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts(ideal) == [(0, 8), (0, 36)]
    assert peak < whole / 4


def test_frames_with_other_columns():
    X = np.random.default_rng(0).standard_normal((40, 2))
    first, second = (
        pd.DataFrame(X[:20], columns=["a", "b"]),
        pd.DataFrame(X[20:], columns=["b", "a"]),
    )
    with pytest.raises(ValueError, match=r"chunk 1 of X has columns \['b', 'a'\], but the first"):
        VanishingIdeal().fit([first, second])
    VanishingIdeal().fit([first, second.set_axis(["a", "b"], axis=1)])


def test_sources_of_other_widths_do_not_go_together():
    with pytest.raises(ValueError, match=r"sources of one width are required, got widths \[2, 3\]"):
        ConcatenatedSource([as_source(np.eye(2)), as_source(np.eye(3))])


def test_weights_across_concatenated_sources():
    """Those of all rows, as if they were one array."""
    first, second = np.arange(6.0).reshape(3, 2), np.arange(4.0).reshape(2, 2)
    weights = np.array([1.0, 0.0, 2.0, 3.0, 1.0])

    def total(x, root_weights):
        return (x * root_weights[:, None] ** 2).sum(axis=0)

    both = ConcatenatedSource([as_source(first), as_source(second)])
    found = both.map_reduce(total, np.add, max_rows=2, weights=weights)
    np.testing.assert_allclose(found, weights @ np.vstack([first, second]))


def test_draws_are_those_of_one_array_whatever_the_blocks():
    X = np.arange(20_000.0).reshape(-1, 1)
    rows = sample_rows(as_source([X[:9000], X[9000:9001], X[9001:]]), 50, seed=3)
    assert rows.shape == (50, 1)
    assert (np.diff(rows[:, 0]) > 0).all()  # each once, in their order
    np.testing.assert_array_equal(rows, sample_rows(as_source(X), 50, seed=3))
    assert len(sample_rows(as_source(X[:7]), 50, seed=3)) == 7


def test_texts_are_no_real_numbers():
    with pytest.raises(ValueError, match="must hold real numbers, got dtype"):
        as_source([np.array([["a", "b"]])]).n_features  # noqa: B018


def test_a_sum_that_overflows_is_no_infinite_entry():
    X = np.full((4, 2), 1.5e308)
    with pytest.raises(ValueError, match="too large"):
        VanishingIdeal().fit(X)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_arrays_without_rows_or_columns_are_refused(shape):
    with pytest.raises(ValueError, match="at least one"):
        as_source(np.empty(shape))


@pytest.mark.parametrize("kind", ["array", "chunks", "memory map", "weighted", "both"])
def test_every_source_says_how_large_it_is_and_where(kind, tmp_path):
    X = surface()
    np.save(tmp_path / "x.npy", X)
    given = {
        "array": X,
        "chunks": np.array_split(X, 3),
        "memory map": np.load(tmp_path / "x.npy", mmap_mode="r"),
        "weighted": X,
        "both": [X],
    }[kind]
    source = as_source(given)
    if kind == "weighted":
        source = WeightedSource(source, np.ones(300))
    if kind == "both":
        source = ConcatenatedSource([source, as_source(X)])
    assert (source.n_features, source.n_samples) == (3, 600 if kind == "both" else 300)
    assert source.cpu is True
