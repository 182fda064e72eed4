"""Right functions are accepted, and the rules agree with what trying their operators shows."""

import pytest

from cavs_tf._tracing.inference.abstract import Kind
from cavs_tf._tracing.inference.analysis import Analysis
from cavs_tf._tracing.inference.sizes import is_known
from cavs_tf._tracing.inference.trial import try_operator
from tests.tracing.test_inference import RIGHT, cell_of, check

TRIED = 1  # How many operators of a type are tried in a function; in long runs all of them.
STYLES = {"Cholesky": 5}  # For these, invented numbers must be positive definite matrices.


def tried(analysis, op):
    """The abstract results that trying an operator gives; None if it cannot be tried."""
    sample = analysis.sample(STYLES.get(op.type, 0), functions={})
    return try_operator(op, [sample], sums_allowed=analysis._forward is not None).results


def disagree(rule, trial) -> bool:
    if rule.kind is not Kind.ROWS or rule.position is not None or rule.axes is None:
        return False
    if not all(map(is_known, rule.axes)):
        return False
    if trial.kind is Kind.COUNT:  # The trial saw rows without elements, or zeros.
        return False
    return trial.kind is not Kind.ROWS or (trial.axes is not None and trial.axes != rule.axes)


@pytest.mark.in_turns
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_function_is_accepted_and_its_rules_agree_with_trials(name, monkeypatch, request):
    most = TRIED if request.config.option.markexpr else float("inf")
    infer, compared, wrong = Analysis._infer, [], []

    def infer_and_try(self, op, inputs, inside):
        results = infer(self, op, inputs, inside)
        found = None if inside or compared.count(op.type) >= most else tried(self, op)
        for rule, trial in zip(results, found or (), strict=False):
            compared.append(op.type)
            if disagree(rule, trial):
                wrong.append((op.type, op.name, rule.axes, trial.kind, trial.axes))
        return results

    monkeypatch.setattr(Analysis, "_infer", infer_and_try)
    check(cell_of(RIGHT[name]))
    assert len(set(compared)) > 3
    assert not wrong
