"""The order of the examples in the gallery: lessons, stories, choices, detectors."""

ORDER = (
    "plot_accounts.py",
    "plot_lab_sheet.py",
    "plot_digit_contrast.py",
    "plot_epipolar.py",
    "plot_coupler_curve.py",
    "plot_gas_law.py",
    "plot_conserved_quantity.py",
    "plot_loop_invariant.py",
    "plot_images.py",
    "plot_explanation.py",
    "plot_contrast.py",
    "plot_tolerance.py",
    "plot_normalizations.py",
    "plot_tables.py",
    "plot_christoffel.py",
    "plot_tuning.py",
)


def place(filename: str) -> tuple[int, str]:
    """Say where an example goes; those that are not listed come last, by name."""
    return (ORDER.index(filename) if filename in ORDER else len(ORDER), filename)
