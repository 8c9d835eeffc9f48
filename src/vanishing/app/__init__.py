"""Applications built on the library: command line, report and playground."""

__all__: list[str] = []
