"""Rules of a table as a text that people read, review and edit: found laws and their own."""

from vanishing.rules.expression import RuleError, parse
from vanishing.rules.rule import Evidence, Rule
from vanishing.rules.rules import KnownColumn, Rules

__all__ = ["Evidence", "KnownColumn", "Rule", "RuleError", "Rules", "parse"]
