"""Rules of a table as a text that people read, review and edit: found laws and their own."""

from vanishing.rules.expression import RuleError, parse
from vanishing.rules.file import load_rules, read_rules, save_rules, write_rules
from vanishing.rules.rule import Evidence, Rule
from vanishing.rules.rules import KnownColumn, Rules
from vanishing.rules.update import Change, update_rules

__all__ = [
    "Change", "Evidence", "KnownColumn", "Rule", "RuleError", "Rules", "load_rules", "parse",
    "read_rules", "save_rules", "update_rules", "write_rules",
]  # fmt: skip
