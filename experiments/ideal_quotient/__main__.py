"""Print the table: ``python -m experiments.ideal_quotient``."""

from experiments.ideal_quotient import records, table

if __name__ == "__main__":
    print(table(records()))
