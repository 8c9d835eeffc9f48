"""What the library needs from an array library: its namespace, its device, a few kernels.

Everything above this layer is written once, against the array API standard. The native fast paths
(LAPACK through SciPy for NumPy, ``torch.linalg`` and Triton for torch) live here and nowhere else.
"""
