"""The rows of another source, with something added to them."""

from typing import Self

from vanishing.samples.source import SampleSource


class WrappedSource(SampleSource):
    """A source with the rows, the columns and the names of another one.

    Parameters
    ----------
    source : SampleSource
    """

    def __init__(self, source: SampleSource) -> None:
        self.source = source
        self.name = source.name
        self.feature_names = source.feature_names

    def named(self, name: str) -> Self:
        """Return the same source under another name, by which its rows go in errors, too.

        Parameters
        ----------
        name : str

        Returns
        -------
        SampleSource
        """
        renamed = super().named(name)
        renamed.source = self.source.named(name)
        return renamed

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.source.n_features

    @property
    def n_samples(self) -> int:
        """Number of rows of the underlying source."""
        return self.source.n_samples

    @property
    def cpu(self) -> bool:
        """Whether the underlying blocks live in the memory of the processor."""
        return self.source.cpu
