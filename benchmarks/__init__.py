"""Time and memory of the library, beside its peers and beside bare BLAS and LAPACK."""
