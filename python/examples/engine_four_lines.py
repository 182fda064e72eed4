"""Four serial lines, run as parallel as they can be, and the queues behind it.

python python/examples/engine_four_lines.py
"""

import threading

from cavs_tf.engine import Engine


def data_flow() -> int:
    """A = 2; B = A + 1; C = A + 2; D = B * C. Returns D."""
    values = {}
    with Engine(workers=2) as engine:
        a, b, c, d = (engine.new_variable(name) for name in "ABCD")
        # B and C wait for each other: they end only if they overlap.
        both = threading.Barrier(2)

        def line_b():
            both.wait(timeout=60)
            values["B"] = values["A"] + 1

        def line_c():
            both.wait(timeout=60)
            values["C"] = values["A"] + 2

        def line_d():
            values["D"] = values["B"] * values["C"]

        engine.push(lambda: values.update(A=2), mutate=[a])
        engine.push(line_b, read=[a], mutate=[b])
        engine.push(line_c, read=[a], mutate=[c])
        engine.push(line_d, read=[b, c], mutate=[d])
        engine.wait_for(d)
    return values["D"]


def queue_animation(show=print) -> list[tuple[str, set[str]]]:
    """B = A + 1; C = A + 2; A = C * 2; D = A + 3, one step at a time.

    Every line starts when the engine lets it, and ends when this function says so.
    Returns, for the beginning and for each end of a line, which lines are running.
    """
    done, running, steps = {}, set(), []
    started = threading.Condition()

    def line(name):
        def start(completion):
            with started:
                done[name] = completion
                running.add(name)
                started.notify()

        return start

    def step(what, expected):
        with started:
            assert started.wait_for(lambda: running == expected, timeout=60), engine.dump()
            steps.append((what, set(running)))
        show(f"{what}: {', '.join(sorted(running)) or 'nothing'} running")
        show(engine.dump())

    def end(name):
        completion = done.pop(name)
        with started:
            running.remove(name)
        completion()

    with Engine(workers=1) as engine:
        a, b, c, d = (engine.new_variable(name) for name in "ABCD")
        for name, read, mutate in [
            ("B = A + 1", [a], [b]),
            ("C = A + 2", [a], [c]),
            ("A = C * 2", [c], [a]),
            ("D = A + 3", [a], [d]),
        ]:
            engine.push_async(line(name), read, mutate, name=name)
        # The two reads at the front of A's queue are granted together.
        step("all four pushed", {"B = A + 1", "C = A + 2"})
        end("C = A + 2")
        step("C is done", {"B = A + 1"})
        end("B = A + 1")
        step("B is done", {"A = C * 2"})
        end("A = C * 2")
        step("A is done", {"D = A + 3"})
        end("D = A + 3")
        engine.wait_all()
    return steps


if __name__ == "__main__":
    print("D =", data_flow(), "and B overlapped C\n")
    queue_animation()
