"""Memory goes back to its pool after its last reader, whenever that is.

python python/examples/engine_memory.py
"""

import threading

import numpy as np

from cavs_tf.engine import Engine


def run() -> list[str]:
    """A = 2; B = A + 1; C = A + 2; del A; E = 5 takes A's memory. Returns what happened."""
    free, log = [], []
    a_data = np.empty(4)
    address = a_data.ctypes.data
    values = {"A": a_data}
    with Engine(workers=3) as engine:
        a, b, c, pool, e = (engine.new_variable(name) for name in ("A", "B", "C", "pool", "E"))
        readers = threading.Barrier(2)

        def read_a(name, add):
            readers.wait(timeout=60)
            values[name] = values["A"] + add
            log.append(f"{name} = A + {add}")

        def recycle():
            free.append(values.pop("A"))
            log.append("del A")

        def reuse():
            values["E"] = free.pop()
            values["E"].fill(5)
            log.append("E = 5")

        engine.push(lambda: values["A"].fill(2), mutate=[a])
        engine.push(lambda: read_a("B", 1), read=[a], mutate=[b])
        engine.push(lambda: read_a("C", 2), read=[a], mutate=[c])
        # A mutation of A: it comes after the reads, and before whoever takes the memory.
        engine.push(recycle, mutate=[a, pool])
        engine.delete(a)
        engine.push(reuse, mutate=[pool, e])
        engine.wait_all()
    assert values["E"].ctypes.data == address
    assert values["B"][0] == 3 and values["C"][0] == 4 and values["E"][0] == 5
    return log


if __name__ == "__main__":
    print("\n".join(run()))
