"""A serial program, line by line, and the call that pushes each line.

python python/examples/engine_calls.py
"""

import numpy as np

from cavs_tf.engine import Engine

# Line, the variables that it reads, those that it mutates.
PROGRAM = [
    ("A = 2", "", "A"),
    ("B = A + 1", "A", "B"),
    ("C = A + 2", "A", "C"),
    ("D = B * C", "BC", "D"),
    ("del A", "", "A"),
    ("E = R.integers(100)", "", "ER"),
    ("F = R.integers(100) + D", "D", "FR"),
]


def call(line: str, read: str, mutate: str) -> str:
    """How the line is pushed."""
    names = [f"{kind}=[{', '.join(some)}]" for kind, some in (("read", read), ("mutate", mutate))]
    return f"engine.push(lambda: exec({line!r}), {names[0]}, {names[1]})"


def serial() -> dict:
    """The program as it is."""
    scope = {"R": np.random.default_rng(1)}
    for line, _, _ in PROGRAM:
        exec(line, scope)
    return scope


def parallel(policy: str = "threaded") -> dict:
    """The program pushed to an engine."""
    scope = {"R": np.random.default_rng(1)}
    with Engine(policy, 2) as engine:
        variables = {name: engine.new_variable(name) for name in "ABCDEFR"}
        for line, read, mutate in PROGRAM:
            engine.push(
                lambda line=line: exec(line, scope),
                read=[variables[name] for name in read],
                mutate=[variables[name] for name in mutate],
                name=line,
            )
    return scope


def main() -> None:
    for line, read, mutate in PROGRAM:
        print(f"{line:25}{call(line, read, mutate)}")
    print({name: int(parallel()[name]) for name in "BCDEF"})


if __name__ == "__main__":
    main()
