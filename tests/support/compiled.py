"""C source, compiled and called."""

import ctypes
import itertools
import shutil
import subprocess

import numpy as np
import pytest

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]
library_numbers = itertools.count()


class Library:
    """Compiled source."""

    def __init__(self, source, folder, name="evaluate", *, flags=()):
        number = next(library_numbers)
        path, library = folder / f"{number}.c", folder / f"{number}.so"
        path.write_text(source, encoding="ascii")
        subprocess.run(["cc", *FLAGS, *flags, "-o", str(library), str(path)], check=True)
        self.functions = ctypes.CDLL(str(library))
        self.name = name

    def number(self, suffix):
        return ctypes.c_int.in_dll(self.functions, f"{self.name}_{suffix}").value

    @property
    def features(self):
        strings = (ctypes.c_char_p * self.number("n_features")).in_dll(
            self.functions, f"{self.name}_features"
        )
        return [text.decode() for text in strings]

    def batch(self, X):
        X = np.ascontiguousarray(X)
        values = np.full((len(X), self.number("n_values")), np.nan)
        function = getattr(self.functions, f"{self.name}_batch")
        function.argtypes = [ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        function(len(X), X.ctypes.data, values.ctypes.data)
        return values

    def single(self, x):
        values = np.full(self.number("n_values"), np.nan)
        function = getattr(self.functions, self.name)
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
        function(np.ascontiguousarray(x).ctypes.data, values.ctypes.data)
        return values
