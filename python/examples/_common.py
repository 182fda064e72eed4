"""What all examples share: the flags --seed and --json, and the summary they write."""

import json
import os
import platform

import keras
import numpy as np
import tensorflow as tf
from absl import flags

import cavs_tf

FLAGS = flags.FLAGS
flags.disclaim_key_flags()  # --help lists the flags of the example, and so these.


def define_flags() -> None:
    """Defines the flags that every example takes."""
    flags.DEFINE_integer("seed", 0, "Of all random numbers.")
    flags.DEFINE_string("json", None, "File to write a summary to.")


def versions() -> dict[str, str]:
    """Of everything that the numbers depend on."""
    return {
        "python": platform.python_version(),
        "tensorflow": tf.__version__,
        "keras": keras.__version__,
        "cavs_tf": cavs_tf.__version__,
        "numpy": np.__version__,
    }


def write_summary(**summary) -> None:
    """Writes a summary, with seed and versions, to the file that --json names.

    Every summary has the same keys; what an example does not measure is null.
    """
    summary = {"accuracy": None, "chance": None, "trees_per_second": None} | summary
    if FLAGS.json:
        os.makedirs(os.path.dirname(FLAGS.json) or ".", exist_ok=True)
        with open(FLAGS.json, "w") as file:
            json.dump(summary | {"seed": FLAGS.seed, "versions": versions()}, file, indent=2)
            file.write("\n")
