"""Exit codes, and the errors that carry them.

The codes are part of the interface: scripts branch on them. ``docs/cli.md`` lists them.
"""

from enum import IntEnum


class Exit(IntEnum):
    """What a command ends with."""

    DONE = 0
    ANOMALIES = 1  # found, with --fail-on-anomaly
    USAGE = 2
    DATA = 3
    MODEL = 4
    OUTPUT = 5
    MISSING = 6  # an optional package
    BUG = 70  # EX_SOFTWARE of sysexits.h
    INTERRUPTED = 130  # 128 + SIGINT
    READER_GONE = 141  # 128 + SIGPIPE


class CliError(Exception):
    """Something the user can mend; the message is one line and says how."""

    code = Exit.BUG


class UsageError(CliError):
    """Options that do not go together."""

    code = Exit.USAGE


class DataError(CliError):
    """A table that cannot be read or used."""

    code = Exit.DATA


class ModelError(CliError):
    """A model file that cannot be read, or a model that cannot do what is asked."""

    code = Exit.MODEL


class OutputError(CliError):
    """A file that cannot be written."""

    code = Exit.OUTPUT


class MissingError(CliError):
    """A package that is not installed."""

    code = Exit.MISSING


class ReaderGoneError(CliError):
    """Who reads our output has closed the pipe, as ``head`` does: nothing to complain about."""

    code = Exit.READER_GONE


class TerminatedError(BaseException):
    """SIGTERM or SIGHUP: unwinds like Ctrl-C, so that unfinished files are removed."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number
