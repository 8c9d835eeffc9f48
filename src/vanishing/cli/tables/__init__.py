"""Tables in and out: CSV, Parquet, NPY and NPZ, files and pipes."""

from vanishing.cli.tables.read import check_inputs, read_table
from vanishing.cli.tables.table import Table
from vanishing.cli.tables.write import check_outputs, write_table

__all__ = ["Table", "check_inputs", "check_outputs", "read_table", "write_table"]
