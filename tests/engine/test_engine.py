"""The engine from Python: order, overlap, errors, exit of the interpreter, fork."""

import ctypes
import gc
import json
import os
import pathlib
import random
import subprocess
import sys
import textwrap
import threading
import weakref

import pytest

from cavs_tf.engine import Engine, EngineError, Native, OperationError, OperationErrors
from cavs_tf.inspect._engine_timeline import timeline

POLICIES = [("naive", 1), ("threaded", 1), ("threaded", 3), ("streams", 1), ("streams", 3)]
ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(params=POLICIES, ids=lambda p: f"{p[0]}{p[1]}")
def engine(request):
    with Engine(*request.param) as made:
        yield made


@pytest.fixture
def two_workers():
    with Engine(workers=2) as made:
        yield made


def run(program: str, before: str = "", **environment) -> subprocess.CompletedProcess:
    """Runs a program that has `Engine` but not TensorFlow, which takes long to load.

    `before` is a line that runs before the engine is imported.
    """
    setup = f"""
        {before}
        import signal, sys, types
        # Ignored from the start where a shell without job control runs tests in its background.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        package = types.ModuleType("cavs_tf")
        package.__path__ = [{str(ROOT / "cavs_tf")!r}]
        sys.modules["cavs_tf"] = package
        from cavs_tf.engine import Engine
    """
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(setup) + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )


def test_conflicting_operations_run_in_push_order(engine):
    x = engine.new_variable("x")
    seen = []
    for i in range(200):
        engine.push(lambda i=i: seen.append(i), mutate=[x])
    engine.wait_for(x)
    assert seen == list(range(200))


def test_readers_overlap(two_workers):
    x = two_workers.new_variable("x")
    both = threading.Barrier(2)
    for _ in range(2):
        two_workers.push(lambda: both.wait(timeout=60), read=[x])
    two_workers.wait_all()


def test_random_workloads_give_what_running_one_by_one_gives(engine):
    rng = random.Random(5)
    names = range(8)
    variables = [engine.new_variable(str(n)) for n in names]

    def step(values, i, read, mutate):
        total = i + sum(values[n] for n in read)
        for n in set(mutate):
            values[n] = (values[n] * 31 + total) % 1000003

    expected, values = [0] * len(names), [0] * len(names)
    for i in range(1000):
        read, mutate = (rng.choices(names, k=rng.randrange(3)) for _ in range(2))
        step(expected, i, read, mutate)
        engine.push(
            lambda i=i, read=read, mutate=mutate: step(values, i, read, mutate),
            [variables[n] for n in read],
            [variables[n] for n in mutate],
            priority=rng.randrange(3),
        )
    engine.wait_all()
    assert values == expected


def test_operation_may_push(engine):
    x = engine.new_variable()
    seen = []
    engine.push(lambda: engine.push(lambda: seen.append(1), mutate=[x]), mutate=[x])
    engine.wait_all()
    assert seen == [1]


def test_function_is_dropped_once_it_has_run(engine):
    class Function:
        def __call__(self):
            pass

    function = Function()
    alive = weakref.ref(function)
    engine.push(function)
    del function
    engine.wait_all()
    gc.collect()
    assert alive() is None


def test_higher_priority_runs_first():
    with Engine(workers=1) as engine:
        gate, seen = threading.Event(), []
        engine.push(lambda: gate.wait(60))
        for priority in (0, 2, 1):
            engine.push(lambda p=priority: seen.append(p), priority=priority)
        gate.set()
        engine.wait_all()
        assert seen == [2, 1, 0]


def test_operation_runs_on_the_stream_it_names():
    with Engine("streams", 2) as engine:
        threads = [set(), set()]
        for i in range(20):
            engine.push(lambda i=i: threads[i % 2].add(threading.get_ident()), stream=i % 2)
        engine.wait_all()
        assert len(threads[0]) == len(threads[1]) == 1
        assert threads[0] != threads[1]


def test_native_function_runs_without_the_lock_of_python(engine):
    if engine.policy == "naive":
        pytest.skip("the pushing thread itself would wait for what it does next")
    libc = ctypes.CDLL(None)
    semaphore = ctypes.create_string_buffer(64)
    assert libc.sem_init(semaphore, 0, 0) == 0
    x = engine.new_variable()
    engine.push(Native(libc.sem_wait, semaphore), mutate=[x])
    # If the operation had the interpreter's lock, this thread would not get here.
    libc.sem_post(semaphore)
    engine.wait_for(x)
    assert engine.version(x) == 1


def test_native_function_runs_in_the_naive_policy_too():
    libc = ctypes.CDLL(None)
    semaphore = ctypes.create_string_buffer(64)
    libc.sem_init(semaphore, 0, 0)
    with Engine("naive") as engine:
        engine.push(Native(libc.sem_post, semaphore))
    assert libc.sem_trywait(semaphore) == 0


def test_native_rejects_what_is_no_library_function():
    with pytest.raises(EngineError, match=r"function: got .* but expected a function of a ctypes"):
        Native(len)


def test_asynchronous_operation_ends_when_done_is_called(engine):
    x = engine.new_variable()
    kept, started, seen = [], threading.Event(), []
    engine.push_async(lambda done: (kept.append(done), started.set()), mutate=[x])
    engine.push(lambda: seen.append(1), read=[x])
    assert started.wait(60)
    assert seen == []
    kept.pop()()
    engine.wait_for(x)
    assert seen == [1]


def test_asynchronous_operation_may_fail_or_be_forgotten(engine):
    x, y = engine.new_variable(), engine.new_variable()
    engine.push_async(lambda done: done.fail(OSError("disk full")), mutate=[x])
    engine.push_async(lambda done: None, mutate=[y])
    with pytest.raises(OperationError, match="disk full") as caught:
        engine.wait_for(x)
    assert isinstance(caught.value.__cause__, OSError)
    with pytest.raises(OperationError, match="got destroyed but expected to be called"):
        engine.wait_for(y)


def test_asynchronous_operation_that_raises_has_failed(engine):
    x = engine.new_variable()
    # The traceback holds `done`, so it is neither called nor dropped.
    engine.push_async(lambda done: 1 / 0, mutate=[x])
    with pytest.raises(OperationError, match="division by zero") as caught:
        engine.wait_for(x)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_error_names_operation_and_push_site_and_keeps_the_cause(engine):
    x = engine.new_variable("x")
    line = sys._getframe().f_lineno + 1
    engine.push(lambda: 1 / 0, mutate=[x], name="divide")
    with pytest.raises(OperationError) as caught:
        engine.wait_for(x)
    error = caught.value
    assert (error.name, error.file, error.line) == ("divide", __file__, line)
    assert str(error) == (
        f"operation 'divide' (pushed at {__file__}:{line}) failed: "
        "ZeroDivisionError: division by zero"
    )
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert error.__cause__.__traceback__ is not None


def test_dependents_of_a_failure_are_skipped_and_it_is_raised_once(engine):
    x, y, z = (engine.new_variable(n) for n in "xyz")
    ran = []
    engine.push(lambda: 1 / 0, mutate=[x])
    engine.push(lambda: ran.append("y"), read=[x], mutate=[y])
    engine.push(lambda: ran.append("z"), mutate=[z])
    with pytest.raises(OperationError):
        engine.wait_for(y)
    engine.wait_for(x)
    engine.wait_all()
    assert ran == ["z"]
    engine.push(lambda: ran.append("again"), mutate=[x])
    engine.wait_all()
    assert ran == ["z", "again"]


def test_wait_all_raises_a_group_of_all_errors(engine):
    variables = [engine.new_variable() for _ in range(3)]
    line = sys._getframe().f_lineno + 2
    for i, variable in enumerate(variables):
        engine.push(lambda i=i: [][i], mutate=[variable], name=f"fail {i}")
    with pytest.raises(OperationErrors) as caught:
        engine.wait_all()
    assert [error.name for error in caught.value.exceptions] == ["fail 0", "fail 1", "fail 2"]
    assert all((e.file, e.line) == (__file__, line) for e in caught.value.exceptions)
    assert all(isinstance(e.__cause__, IndexError) for e in caught.value.exceptions)
    assert str(caught.value).startswith(
        f"3 operations failed\n  operation 'fail 0' (pushed at {__file__}:{line}) failed: "
    )
    if sys.version_info >= (3, 11):
        assert isinstance(caught.value, ExceptionGroup)  # noqa: F821
        assert isinstance(caught.value.split(OperationError)[0], OperationErrors)


def test_errors_are_a_group_of_our_own_where_python_has_none():
    result = run(
        """
        engine = Engine(workers=1)
        line = sys._getframe().f_lineno + 2
        for name in "ab":
            engine.push(lambda: 1 / 0, name=name)
        try:
            engine.wait_all()
        except Exception as error:
            print([type(e.__cause__).__name__ for e in error.exceptions])
            print([e.line == line for e in error.exceptions])
            print(error)
        """,
        before="import builtins; builtins.__dict__.pop('ExceptionGroup', None)",
    )
    kinds, lines, *text = result.stdout.splitlines()
    assert kinds == "['ZeroDivisionError', 'ZeroDivisionError']", result.stderr
    assert lines == "[True, True]"
    assert text[0] == "2 operations failed" and text[2].startswith("  operation 'b' (pushed at ")


def test_two_failures_of_one_variable_are_raised_together(engine):
    x, y, z = (engine.new_variable(n) for n in "xyz")
    engine.push(lambda: 1 / 0, mutate=[x])
    engine.push(lambda: {}["k"], mutate=[y])
    engine.push(lambda: None, read=[x, y], mutate=[z])
    with pytest.raises(OperationErrors) as caught:
        engine.wait_for(z)
    causes = [type(error.__cause__) for error in caught.value.exceptions]
    assert causes == [ZeroDivisionError, KeyError]


def test_with_block_raises_what_nobody_waited_for():
    with pytest.raises(OperationErrors), Engine(workers=1) as engine:
        engine.push(lambda: 1 / 0)


def test_close_raises_what_nobody_waited_for():
    engine = Engine(workers=1)
    engine.push(lambda: 1 / 0)
    with pytest.raises(OperationErrors):
        engine.close()


def test_waiting_inside_an_operation_is_an_error(engine):
    engine.push(engine.wait_all, name="impatient")
    with pytest.raises(OperationErrors) as caught:
        engine.wait_all()
    (error,) = caught.value.exceptions
    assert isinstance(error.__cause__, EngineError)
    assert "wait: got a call inside the operation 'impatient' but expected" in str(error)


def test_wrong_variables_are_rejected_and_nothing_changes(engine):
    x, gone = engine.new_variable("x"), engine.new_variable("gone")
    engine.delete(gone)
    with pytest.raises(EngineError, match=r"^read\[1\]: got .*deleted variable.* but expected"):
        engine.push(lambda: None, read=[x, gone], mutate=[])
    with (
        Engine("naive") as other,
        pytest.raises(
            EngineError, match=r"^mutate\[0\]: got a variable of another engine but expected"
        ),
    ):
        engine.push(lambda: None, mutate=[other.new_variable()])
    with pytest.raises(EngineError, match=r"^mutate\[1\]: got 'x' but expected a variable"):
        engine.push(lambda: None, mutate=[x, "x"])
    with pytest.raises(EngineError, match=r"^variable: got a deleted variable but expected"):
        engine.wait_for(gone)
    engine.wait_all()
    assert engine.version(x) == 0


def test_wrong_arguments_are_rejected(engine, monkeypatch):
    with pytest.raises(EngineError, match=r"^fn: got 3 but expected something to call"):
        engine.push(3)
    with pytest.raises(EngineError, match=r"^workers: got 0 but expected an integer in"):
        Engine(workers=0)
    with pytest.raises(EngineError, match=r"^policy: got 'fast' but expected one of threaded, "):
        Engine("fast")
    with pytest.raises(EngineError, match=r"^stream: got -1 but expected one in"):
        engine.push(print, stream=-1)
    monkeypatch.setenv("CAVS_ENGINE", "fast")
    with pytest.raises(EngineError, match=r"^CAVS_ENGINE: got 'fast'"):
        Engine()


def test_push_after_close_is_rejected():
    engine = Engine(workers=1)
    engine.close()
    with pytest.raises(EngineError, match=r"^engine: got a call after it was closed"):
        engine.push(print)
    engine.close()


def test_environment_chooses_the_policy(monkeypatch):
    monkeypatch.setenv("CAVS_ENGINE", "naive")
    with Engine("streams", 2) as engine:
        assert engine.policy == "naive"
        engine.push(lambda: None, stream=1)


def test_variables_are_equal_to_themselves_alone(engine):
    x, y = engine.new_variable("x"), engine.new_variable()
    assert x == x and x != y and x != "x"
    assert len({x, x, y}) == 2
    assert repr(x).startswith("<Variable 'x' (v") and x.name == "x"


def test_dump_says_who_waits_for_what(two_workers):
    x = two_workers.new_variable("x")
    started, gate = threading.Event(), threading.Event()
    two_workers.push(lambda: (started.set(), gate.wait(60)), mutate=[x], name="load")
    two_workers.push(lambda: None, read=[x], name="use")
    assert started.wait(60)
    dump = two_workers.dump()
    gate.set()
    assert "'load' pushed at" in dump and "running on worker" in dump
    assert "waits for 'x' (v0) to read, after #1" in dump


def test_trace_is_json_that_says_what_ran_where(engine, tmp_path):
    x = engine.new_variable()
    engine.start_trace()
    engine.push(lambda: None, mutate=[x], name="first")
    engine.push(lambda: 1 / 0, read=[x], name="second")
    with pytest.raises(OperationErrors):
        engine.wait_all()
    trace = engine.stop_trace()
    assert [(e.name, e.outcome) for e in trace.events] == [("first", "done"), ("second", "failed")]
    first, second = trace.events
    assert 0 <= first.pushed <= first.began <= first.ended <= second.began <= second.ended
    trace.save(tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["name"] for event in events} == {"first", "second", "thread_name"}
    assert trace.overlap("first", "second") == 0


def test_overlap_is_the_time_that_both_ran(two_workers):
    both = threading.Barrier(2)
    two_workers.start_trace()
    for name in "ab":
        two_workers.push(lambda: (both.wait(60), both.wait(60)), name=name)
    two_workers.wait_all()
    trace = two_workers.stop_trace()
    assert trace.overlap("a", lambda event: event.name == "b") > 0


def test_timeline_has_a_row_per_worker_and_a_bar_per_operation(engine, tmp_path):
    engine.start_trace()
    for i in range(3):
        engine.push(lambda: None, name=f"operation {i}")
    engine.wait_all()
    trace = engine.stop_trace()
    figure = timeline(trace, tmp_path / "timeline.png")
    axes = figure.axes[0]
    assert len(axes.patches) == 3
    assert len(axes.get_yticklabels()) == len({event.worker for event in trace.events})
    assert (tmp_path / "timeline.png").stat().st_size > 1000


def test_timeline_of_nothing_is_empty():
    with Engine("naive") as engine:
        engine.start_trace()
        assert not timeline(engine.stop_trace()).axes[0].patches


def test_engine_needs_no_tensorflow():
    result = run("assert 'tensorflow' not in sys.modules; print(Engine('naive').policy)")
    assert (result.returncode, result.stdout) == (0, "naive\n"), result.stderr


@pytest.mark.parametrize("policy", ["naive", "threaded", "streams"])
def test_interpreter_that_exits_with_work_pending_runs_it(policy):
    result = run(
        """
        engine = Engine()
        x = engine.new_variable()
        for i in range(100):
            engine.push(lambda i=i: print(i), mutate=[x])
        """,
        CAVS_ENGINE=policy,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [str(i) for i in range(100)]


@pytest.mark.parametrize("policy", ["naive", "threaded", "streams"])
def test_interpreter_does_not_wait_for_a_completion_that_never_comes(policy):
    result = run(
        """
        engine = Engine()
        x = engine.new_variable()
        kept = []
        engine.push_async(kept.append, mutate=[x])
        engine.push(lambda: print("never"), read=[x])
        """,
        CAVS_ENGINE=policy,
    )
    assert (result.returncode, result.stdout) == (0, ""), result.stderr


def test_interpreter_that_exits_prints_errors_nobody_waited_for():
    result = run("engine = Engine(); engine.push(lambda: 1 / 0, name='late')")
    assert result.returncode == 0
    assert "operation 'late' (pushed at <string>:" in result.stderr
    assert "ZeroDivisionError" in result.stderr


@pytest.mark.in_turns
def test_interpreter_waits_for_an_operation_that_is_running():
    result = run(
        """
        import threading, time
        engine = Engine(workers=1)
        x = engine.new_variable()
        started = threading.Event()
        engine.push(lambda: (started.set(), time.sleep(1), print("ran")), mutate=[x])
        engine.push(lambda: print("then this"), read=[x])
        started.wait()
        """
    )
    assert (result.returncode, result.stdout) == (0, "ran\nthen this\n"), result.stderr


@pytest.mark.parametrize("operation", ["threading.Event().wait()", "spin()", "sleep()"])
def test_interpreter_that_waits_for_an_endless_operation_can_be_interrupted(operation):
    result = run(
        f"""
        import os, signal, threading, time
        def spin():
            while True: pass
        def sleep():
            while True: time.sleep(1e-5)
        engine = Engine(workers=2)
        x = engine.new_variable()
        engine.push(lambda: {operation}, mutate=[x])
        engine.push(lambda: print("never"), read=[x])
        interrupt = lambda: os.kill(os.getpid(), signal.SIGINT)
        timer = threading.Timer(0.5, interrupt)
        timer.daemon = True  # Else Python waits for it before it ends.
        timer.start()
        """
    )
    assert (result.returncode, result.stdout) == (0, ""), result.stderr
    assert "KeyboardInterrupt" in result.stderr


def test_with_block_that_is_interrupted_twice_drops_what_has_not_begun():
    result = run(
        """
        import os, signal, threading
        gate, entered, seen = threading.Event(), threading.Event(), []
        interrupt = lambda: os.kill(os.getpid(), signal.SIGINT)
        try:
            with Engine(workers=1) as engine:
                x = engine.new_variable()
                engine.push(lambda: (entered.set(), gate.wait()), mutate=[x])
                engine.push(lambda: seen.append(1), read=[x])
                entered.wait()
                timer = threading.Timer(0.5, interrupt)
                timer.start()
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            gate.set()
            print("interrupted", seen)
        """
    )
    assert (result.returncode, result.stdout) == (0, "interrupted []\n"), result.stderr


def test_wait_can_be_interrupted():
    result = run(
        """
        import os, signal, threading
        engine = Engine(workers=1)
        x = engine.new_variable()
        kept = []
        engine.push_async(lambda done: (kept.append(done), os.kill(os.getpid(), signal.SIGINT)),
                          mutate=[x])
        try:
            engine.wait_for(x)
        except KeyboardInterrupt:
            print("interrupted")
        """
    )
    assert (result.returncode, result.stdout) == (0, "interrupted\n"), result.stderr


@pytest.mark.parametrize("policy", ["naive", "threaded", "streams"])
def test_forked_child_has_a_fresh_engine(policy):
    result = run(
        """
        import os
        engine = Engine()
        x = engine.new_variable()
        engine.push(lambda: None, mutate=[x])
        child = os.fork()
        if child == 0:
            engine.wait_all()
            try:
                engine.push(print, mutate=[x])
            except ValueError as error:
                print(error, flush=True)
            y = engine.new_variable()
            engine.push(lambda: print("child", flush=True), mutate=[y])
            engine.wait_for(y)
            sys.exit(7)
        status = os.waitpid(child, 0)[1]
        engine.push(lambda: print("parent", os.waitstatus_to_exitcode(status)), mutate=[x])
        engine.wait_all()
        """,
        CAVS_ENGINE=policy,
    )
    assert result.returncode == 0, result.stderr
    first, *rest = result.stdout.splitlines()
    assert first.startswith("mutate[0]: got a variable of another engine but expected")
    assert rest == ["child", "parent 7"]


def test_processes_of_multiprocessing_that_are_forked_have_engines_of_their_own():
    result = run(
        """
        import multiprocessing, threading
        engine = Engine(workers=2)
        x = engine.new_variable()
        gate, seen = threading.Event(), []
        engine.push(lambda: (gate.wait(60), seen.append("parent")), mutate=[x])
        def square(i):
            y = engine.new_variable()
            values = []
            engine.push(lambda: values.append(i * i), mutate=[y])
            engine.wait_for(y)
            return values
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(square, range(4)))
        gate.set()
        engine.wait_all()
        print(seen)
        """,
        PYTHONWARNINGS="ignore",
    )
    assert result.stdout == "[[0], [1], [4], [9]]\n['parent']\n", result.stderr
    assert result.returncode == 0


def test_engine_may_lose_its_last_reference_in_an_operation():
    result = run(
        """
        import threading
        gate, gone = threading.Event(), threading.Event()
        class Holder:
            pass
        holder = Holder()
        holder.engine = Engine(workers=2)
        def operation():
            gate.wait(60)
            holder.engine = None
            gone.set()
            raise ValueError("nobody is there to hear it")
        holder.engine.push(operation)
        gate.set()
        assert gone.wait(60)
        print("done")
        """
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


# Python before 3.14 ends threads that ask for its lock after this has begun to be destroyed.
SLOW_TO_END = """
        import ctypes, threading, time
        from cavs_tf.engine import Native
        class Slow:
            def __del__(self, sleep=time.sleep):
                sleep(1)
        slow = Slow()
"""


def test_engines_may_lose_their_last_references_while_the_process_ends():
    result = run(
        SLOW_TO_END
        + """
        gate = threading.Event()
        class Holder:
            def run(self):
                gate.wait(60)
                self.engine = None
        for _ in range(100):
            holder = Holder()
            holder.engine = Engine(workers=1)
            holder.engine.push(holder.run)
        print("done")
        gate.set()
        """
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr


def test_a_thread_may_close_an_engine_while_the_process_ends():
    result = run(
        SLOW_TO_END
        + """
        class Holder:
            engine = Engine(workers=2)
        Holder.engine.push(Native(ctypes.CDLL(None).usleep, 500_000))
        begun = threading.Event()
        def close():
            begun.set()
            Holder.engine = None
        threading.Thread(target=close, daemon=True).start()
        assert begun.wait(60)
        time.sleep(0.1)
        print("done")
        """
    )
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
