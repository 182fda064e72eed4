"""What README.md promises about fairness, with workers that only record what they are told."""

import pytest

from benchmarks import harness, machine, workloads
from benchmarks.cells import Cell, Contender, Effort

CELL = Cell("tree_fc", workloads.Settings(units=4, batch=2, leaves=4, minibatches=2), threads=1)


class Told:
    """A worker without a process."""

    def __init__(self, log, name):
        self.log, self.name = log, name
        self.running = True
        self._answers = []

    def send(self, verb, **arguments):
        self.running = True
        self.log.append((self.name, verb))
        self._answers.append(self._answer(verb))

    def _answer(self, verb):
        if verb == "first_steps":
            return [1.0, 1.0, 1.0], {}, 1.0
        return {"prepare": "1.0", "run": 10.0, "construct_seconds": (None, False)}.get(verb)

    def receive(self, verb, timeout):
        return self._answers.pop(0)

    def call(self, verb, timeout, **arguments):
        self.send(verb, **arguments)
        return self.receive(verb, timeout)

    def stop(self):
        self.running = False

    def close(self):
        self.running = False

    def cpu_ticks(self):
        return 0


class NoPeak:
    """Takes the place of a measurement by a program that has to be compiled."""

    problem = "not measured"

    def __init__(self, threads):
        pass

    def measure(self):
        return None


@pytest.fixture
def race(monkeypatch):
    """Measures systems, given by name; returns (what the workers were told, the records)."""

    def run(names, complaints=None, repeats=3):
        log, told = [], []

        def start(threads):
            told.append(Told(log, names[len(told)]))
            return told[-1]

        class Checker:
            def __init__(self, workload, mode):
                pass

            def complaint(self, system, losses, gradients, slack):
                log.append((system, "compared"))
                return (complaints or {}).get(system)

        monkeypatch.setattr(harness, "Checker", Checker)
        monkeypatch.setattr(harness, "Peak", NoPeak)
        monkeypatch.setattr(machine.Watch, "__enter__", lambda self: log.append(_running(told)))
        monkeypatch.setattr(machine.Watch, "__exit__", lambda self, *error: None)
        contenders = [Contender(name, name) for name in names]
        records = harness.measure(CELL, contenders, Effort(repeats, 0.01), lambda line: None, start)
        return log, records

    return run


def _running(told):
    return "running", [worker.name for worker in told if worker.running]


def test_losses_and_gradients_are_compared_before_anything_is_timed(race):
    log, _ = race(["a", "b"])
    compared = [i for i, entry in enumerate(log) if entry[1] == "compared"]
    timed = [i for i, entry in enumerate(log) if entry[1] in ("warm_up", "run")]
    assert len(compared) == 2 and max(compared) < min(timed)


def test_who_computes_something_else_is_shown_but_not_timed(race):
    log, (good, bad) = race(["a", "b"], complaints={"b": "wrong loss"})
    assert ("b", "run") not in log and ("b", "warm_up") not in log
    assert bad.error == "wrong loss" and bad.per_second is None
    assert good.per_second == 10.0


def test_every_system_warms_up_and_turns_are_taken_in_an_order_that_rotates(race):
    log, _ = race(["a", "b", "c"], repeats=3)
    told = [entry for entry in log if entry[1] in ("warm_up", "run")]
    assert told[:3] == [(name, "warm_up") for name in "abc"]
    assert "".join(name for name, verb in told[3:]) == "abcbcacab"


def test_all_others_are_stopped_while_one_runs(race):
    log, _ = race(["a", "b", "c"])
    assert [entry[1] for entry in log if entry[0] == "running"] == [[]] * 9


def test_how_busy_the_machine_was_stays_with_the_figures(race, monkeypatch):
    monkeypatch.setattr(machine.Watch, "busy_share", 0.25)
    _, (record,) = race(["a"])
    assert record.busy_share == 0.25 and record.to_json()["busy_share"] == 0.25
