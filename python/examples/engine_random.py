"""Two draws from one generator: one after the other, so the same numbers every time.

python python/examples/engine_random.py
"""

import numpy as np

from cavs_tf.engine import Engine


def run(seed: int, policy: str = "threaded") -> np.ndarray:
    """Draws twice and adds up, with everything else free to overlap. Returns the sum."""
    generator = np.random.default_rng(seed)
    values = {}
    with Engine(policy, 4) as engine:
        # The generator is a variable like any other: drawing changes its state.
        rng, x, y, z = (engine.new_variable(name) for name in ("rng", "x", "y", "z"))
        engine.push(lambda: values.update(x=generator.normal(size=1000)), mutate=[rng, x])
        engine.push(lambda: values.update(y=generator.normal(size=1000)), mutate=[rng, y])
        engine.push(lambda: values.update(z=values["x"] - values["y"]), read=[x, y], mutate=[z])
        engine.wait_for(z)
    return values["z"]


def main() -> None:
    first = run(seed=1)
    for attempt in range(100):
        assert np.array_equal(run(seed=1), first), attempt
    print("100 runs, each the same", first[:3])


if __name__ == "__main__":
    main()
