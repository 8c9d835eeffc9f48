"""Makes ``results.md`` of the two files of results: ``python -m benchmarks.gpu.report``."""

import json
from pathlib import Path
from typing import Any

from benchmarks.speed.report import table

HERE = Path(__file__).parent


def markdown(record: dict[str, Any], starts: list[dict[str, Any]]) -> str:
    """Write the results for people."""
    rates, host = record["rates"], record["from_host"]
    versions = ", ".join(f"{name} {version}" for name, version in record["versions"].items())
    agreement = [
        {
            "normalization": row["normalization"],
            "reduction": row["reduction"],
            "polynomials": row["polynomials"],
            "extents, relative": f"{row['extents_max_relative_difference']:.1e}",
            "values": f"{row['values_max_difference']:.1e}",
        }
        for row in record["agreement"]
    ]
    fits = [
        {
            "size": f"{row['rows']:,}×{row['features']} degree {row['degree']}",
            "sets": "X and Y" if row["contrastive"] else "X",
            "precision": row["precision"],
            "reduction": row["reduction"],
            "seconds": f"{row['seconds']:.3f}",
        }
        for row in record["fits"]
    ]
    passes = [
        {
            "block": f"{row['rows']:,}×{row['features']} degree {row['degree']}",
            "columns": f"{row['columns']:,}",
            **{
                f"{part} ms": f"{1000 * row['seconds'][part]:.2f}"
                for part in ("evaluation", "gram", "qr")
            },
            "gram ÷ matrix rate": f"{row['gram_share_of_matrix_rate']:.2f}",
            "with evaluation": f"{row['evaluation_and_gram_share_of_matrix_rate']:.2f}",
            "qr ÷ matrix rate": f"{row['qr_share_of_matrix_rate']:.2f}",
            "products ÷ bandwidth": f"{row['products_share_of_bandwidth']:.2f}",
            "× faster than gathering": f"{row['products_times_faster_than_by_gathering']:.1f}",
        }
        for row in rates["passes"]
    ]
    promised = [
        {
            "fit": row["fit"],
            "start": str(number),
            "commit": start["commit"],
            "target s": f"{row['target']:g}",
            "median s": f"{row['median']:.3g}",
            "slowest s": f"{max(row['seconds']):.3g}",
        }
        for number, start in enumerate(starts, 1)
        for row in start["rows"]
    ]
    images = [
        {
            "detector": row["fit"],
            "start": str(number),
            "10,000 images scored in s": f"{row['score_10000_median']:.2f}",
            "AUC × 100, even against odd": f"{row['auc_even_odd']:.1f}",
        }
        for number, start in enumerate(starts, 1)
        for row in start["rows"]
        if "auc_even_odd" in row
    ]
    parts = [
        "# Fits on an accelerator",
        "Written by `python -m benchmarks.gpu.report`; what is measured is in "
        "[README.md](../README.md).",
        f"{record['device']}, commit {record['commit']}; {versions}; "
        f"{record['host_threads']} threads of the host.",
        "## Seconds, data on the device",
        "The best of three. Host work is included: what is left of the small problem of each "
        "degree, all of it where\nrounding errors matter.",
        _table(fits),
        "## Promised seconds",
        "Runs after one to warm up, seven of the fits and three of the detectors, on machines that "
        "were started one\nafter the other.",
        _table(promised),
        _table(images),
        "## A block of rows, beside what the device can do",
        "Measured on the device: products of large square matrices in float64 "
        f"{rates['matrix_flop_per_s'] / 1e12:.1f} TFLOP/s, copying "
        f"{rates['copy_bytes_per_s'] / 1e12:.2f} TB/s. Shares of the matrix rate count all\n"
        "operations of the product [F C]ᵀ[F C], also those that its symmetry saves, so that they "
        "may exceed 1.\nProducts are written once and their factors are read; a copy reads and "
        "writes.",
        _table(passes),
        "## Data that stays on the host",
        f"{host['rows']:,}×{host['features']}, degree 2, gradient: {host['fit_seconds']:.2f} s in "
        f"{host['passes']} passes; one transfer of the data alone takes\n"
        f"{host['transfer_seconds']:.2f} s, at {host['transfer_bytes_per_s'] / 1e9:.1f} GB/s.",
        "## Agreement with NumPy",
        "Largest differences between fits of 20,000×5 at degree 3 on the device and by NumPy.",
        _table(agreement),
    ]
    return "\n\n".join(parts) + "\n"


def _table(rows: list[dict[str, Any]]) -> str:
    return table(list(rows[0]), [[str(cell) for cell in row.values()] for row in rows])


def main() -> None:
    """Read and write."""
    record, starts = (
        json.loads((HERE / name).read_text()) for name in ("results.json", "targets.json")
    )
    (HERE / "results.md").write_text(markdown(record, starts))


if __name__ == "__main__":
    main()
