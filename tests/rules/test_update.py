"""Updates of files of rules change what was found, and nothing that people wrote."""

import numpy as np
import pandas as pd
import pytest
from tests.rules.test_rules import KINDS, invoices

from vanishing import discover
from vanishing.rules import RuleError, Rules, read_rules, update_rules, write_rules

OWN = """\
# About dates.
[[rule]]
rule = "net <= 99"  # as agreed

"""


def find(frame):
    return Rules.from_laws(discover(frame))


def make(n_rows=80, rate=0.19, seed=0):
    frame = invoices(n_rows, np.random.default_rng(seed))
    tax = (rate * frame.net).round(2)
    return frame.assign(tax=tax, gross=(frame.net + tax).round(2))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_changes_if_nothing_did(kind):
    found = find(KINDS[kind](80, np.random.default_rng(7)))
    text = write_rules(found)
    assert update_rules(text, found) == (text, [])


@pytest.mark.parametrize("kind", ["noise", "power"])
def test_other_rows_of_the_same_kind_change_nothing(kind):
    first, second = (find(KINDS[kind](200, np.random.default_rng(seed))) for seed in (1, 2))
    _, changes = update_rules(write_rules(first), second)
    assert not changes


def test_what_changed_is_told():
    text = write_rules(find(make()))
    frame = make(rate=0.07, seed=1)
    _, changes = update_rules(text, find(frame))
    assert [(each.kind, each.text) for each in changes] == [
        ("changed", "19*net = 100*tax, now 7*net = 100*tax")
    ]
    frame["twice"] = 2 * frame.net
    frame["gross"] = np.random.default_rng(0).uniform(1, 2, len(frame))
    _, changes = update_rules(text, find(frame))
    assert {each.kind: each.text for each in changes}.keys() == {"changed", "new", "gone"}


def test_new_rules_have_names_that_are_free():
    frame = make()
    rules = find(frame)
    frame["start"], frame["end"] = frame.net, frame.net + 1.5
    names = [f"domain-{k}" for k in (1, 2)]
    text = write_rules(rules) + "".join(
        f'\n[[rule]]\nid = "{name}"\nrule = "net < 1e9"\n' for name in names
    )
    _, changes = update_rules(text, find(frame))
    named = {each.rule.id for each in changes if each.rule.kind != "law"}
    assert named
    assert all(each.startswith("domain-") and each not in names for each in named)


def test_less_noise_is_a_change():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(1, 5, (2, 300))
    texts = []
    for noise in (1e-2, 1e-3):
        z = x * y * (1 + rng.normal(0, noise, 300))
        texts.append(find(pd.DataFrame({"x": x, "y": y, "z": z})))
    _, changes = update_rules(write_rules(texts[0]), texts[1])
    assert [each.kind for each in changes] == ["changed"]
    assert "noise 0.0054, now 0.00057" in changes[0].text


def test_what_people_wrote_stays():
    text = write_rules(find(make()))
    head, _, tail = text.partition('[[rule]]\nid = "law-1"')
    edited = f'{head}{OWN}# rates\n[[rule]]\nid = "vat" # ours\nnote = "by law"{tail}# the end\n'
    new = make(rate=0.07, seed=1)
    updated, changes = update_rules(edited, find(new))
    assert [(each.kind, each.rule.id) for each in changes] == [("changed", "vat")]
    for line in (*OWN.splitlines(), "# rates", 'id = "vat" # ours', "# the end"):
        assert line in updated.splitlines()
    rules = read_rules(updated)
    assert [rule.id for rule in rules] == ["rule-1", "vat", "law-2"]
    assert rules[1].note == "by law"
    # With a note, a rule stays even if it is gone.
    new["tax"] = np.random.default_rng(0).uniform(1, 2, len(new))
    updated, changes = update_rules(edited, find(new))
    assert ("gone", "vat") in [(each.kind, each.rule.id) for each in changes]
    assert [rule.id for rule in read_rules(updated)][:2] == ["rule-1", "vat"]
    assert "# rates" in updated


def test_a_rule_that_a_person_took_over_is_not_found_again():
    found = find(make())
    text = write_rules(found).replace('source = "found"', 'source = "person"')
    updated, changes = update_rules(text, found)
    assert not changes
    assert updated == text


def test_tables_that_cannot_be_updated():
    for text in ("format = 1\nrule = [{rule = 'a < b'}]", "format = 1\nx = 1"):
        with pytest.raises(RuleError):
            update_rules(text, find(make()))
