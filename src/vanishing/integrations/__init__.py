"""The detectors in the terms of other libraries, one module a library; each needs an extra."""

__all__: list[str] = []
