"""Laws, tables without laws, and planted errors: what ``vanishing.discover`` finds."""
