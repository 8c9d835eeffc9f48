"""Symmetric products of matrices."""

from vanishing._xp.namespace import Array, namespace, on_cpu

#: On an accelerator, products of this many polynomials or more are made in so many strips. For
#: 1,001 and 1,771 polynomials 1.5 times as fast as the whole product (H200, float64), slower for
#: 286.
STRIPPED, STRIPS = 512, 4


def gram(values: Array) -> Array:
    """Return ``values @ values.T``, through a symmetric rank-k update where there is one."""
    n_polynomials = values.shape[0]
    if on_cpu(values) or n_polynomials < STRIPPED:
        return values @ values.T  # NumPy recognizes the transposed operand and calls syrk
    # Accelerators have no such update behind this operator: strips of the upper triangle.
    xp = namespace(values)
    shape = (n_polynomials, n_polynomials)
    product = xp.empty(shape, dtype=values.dtype, device=values.device)
    height = -(-n_polynomials // STRIPS)
    for start in range(0, n_polynomials, height):
        stop = min(start + height, n_polynomials)
        strip = values[start:stop, :] @ values[start:, :].T
        product[start:stop, start:] = strip
        product[start:, start:stop] = strip.T
    return product
