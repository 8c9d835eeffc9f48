"""Answers other than the one that was asked for."""

from typing import Any


class RefusalError(Exception):
    """A request that is not answered, and why: what was expected, what came, what helps.

    Parameters
    ----------
    status : int
        Of HTTP.
    error : str
        A word for programs, such as "too-many-points".
    expected, got, remedy : str
        For people. None of them may name anything of the machine.
    retry_after : int, optional
        Seconds after which the same request may succeed.
    """

    def __init__(
        self,
        status: int,
        error: str,
        *,
        expected: str,
        got: str,
        remedy: str,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(error)
        self.status = status
        self.error = error
        self.expected = expected
        self.got = got
        self.remedy = remedy
        self.retry_after = retry_after

    def body(self) -> dict[str, Any]:
        """Return the answer as it is sent."""
        return {
            "error": self.error,
            "message": f"Expected {self.expected}; got {self.got}. {self.remedy}",
            "expected": self.expected,
            "got": self.got,
            "remedy": self.remedy,
        }

    def headers(self) -> dict[str, str]:
        """Return the headers that belong to it."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def internal_error() -> RefusalError:
    """Return what is said of an error that nobody foresaw: nothing of what happened where."""
    return RefusalError(
        500,
        "internal",
        expected="an answer",
        got="an error inside the server",
        remedy="The terminal of the server shows it; please report it together with the link of "
        "this page.",
    )
