"""What a notebook shows of a basis."""


class InNotebooks:
    """Mixin of the basis, whose first equations appear in notebooks in x0, x1, ..."""

    n_features: int

    # Upwards, since forms that people read know the basis; pyproject.toml allows these lines.
    def _repr_latex_(self) -> str:
        from vanishing.export.notebook import notebook_latex

        return notebook_latex(self, self._plain_names())  # type: ignore[arg-type]

    def _repr_html_(self) -> str:
        from vanishing.export.notebook import notebook_html

        return notebook_html(self, self._plain_names())  # type: ignore[arg-type]

    def _plain_names(self) -> list[str]:
        return [f"x{j}" for j in range(self.n_features)]
