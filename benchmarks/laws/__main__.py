"""``python -m benchmarks.laws`` runs the suite."""

from benchmarks.laws.suite import main

if __name__ == "__main__":
    main()
