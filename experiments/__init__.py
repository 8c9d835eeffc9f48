"""The paper's figure and tables, and what goes beyond them; uses the public API only."""
