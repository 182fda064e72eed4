"""A function in a process of its own, where TensorFlow may still be told its number of threads."""

import concurrent.futures
import multiprocessing
import os


def call(threads: int, function, *arguments):
    """Returns function(*arguments), computed in a new process; all of them have to be picklable."""
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, spawn, _start, (threads,)) as pool:
        return pool.submit(function, *arguments).result()


def _start(threads: int) -> None:
    """Sets the environment that TensorFlow reads when it is imported."""
    os.environ["TF_NUM_INTRAOP_THREADS"] = str(threads)
