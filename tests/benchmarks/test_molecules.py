"""The benchmark of message passing over molecules."""

import numpy as np
import pytest

from benchmarks import contest, molecules

pytestmark = pytest.mark.usefixtures("in_this_process")


def test_molecules_are_connected_and_have_few_bonds():
    minibatch = molecules.molecules(np.random.default_rng(0), 30)
    rings = 0
    for size, edges in zip(minibatch.sizes, minibatch.edges, strict=True):
        assert 10 <= size <= 40
        pairs = {tuple(edge) for edge in edges.tolist()}
        assert len(pairs) == len(edges)
        assert pairs == {(v, u) for u, v in pairs}
        assert np.bincount(edges[:, 0]).max() <= molecules.BONDS
        reached = {0}
        for _ in range(size):
            reached |= {v for u, v in pairs if u in reached}
        assert len(reached) == size
        rings += len(edges) // 2 - (size - 1)
    assert rings >= 15


def test_systems_give_the_same_numbers_and_are_in_the_table(capsys):
    pytest.importorskip("torch")
    molecules.main(["--units=4", "--turns=2", "--batch=3"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("4 units")
    assert lines[-1].count(" ms") >= 2


def test_a_system_that_is_not_installed_says_how_to_install_it(monkeypatch, capsys):
    monkeypatch.setattr(contest.importlib.util, "find_spec", lambda name: None)
    assert [system.name for system in molecules.prepare(4, 2, 1)] == ["cavs_tf"]
    assert capsys.readouterr().out.splitlines() == [
        "PyTorch by hand: torch: not installed. pip install torch",
        "PyTorch Geometric: torch, torch_geometric: not installed. pip install torch "
        "torch_geometric",
    ]


@pytest.mark.in_turns
def test_other_numbers_are_refused():
    class Wrong(molecules.Ours):
        def gradients(self, number):
            loss, gradients = super().gradients(number)
            return 1.01 * loss, gradients

    minibatches = [molecules.molecules(np.random.default_rng(0), 2)] * molecules.MINIBATCHES
    systems = [made(minibatches, 4, 1) for made in (molecules.Ours, Wrong)]
    systems[1].take(systems[0].weights())
    with pytest.raises(AssertionError):
        molecules.milliseconds(systems, 1)
