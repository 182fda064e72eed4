"""A server that answers several clients by one call of a model."""

import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import processes

EXAMPLES = pathlib.Path(__file__).parents[2] / "python/examples"
TREES = ["(MAX 2 9)", "(MIN (MAX 2 4) 7 1)", "(SM 1 (MED 3 4 5) 8)", "(MIN 4 (MAX 8 UNKNOWN))"]
BAD = {
    '{"tree": "(MAX 2 9"}': "expected one tree",
    '{"tree": "(MAX (2 3) ())"}': "expected brackets that match and are not empty",
    '{"tree": ["MAX", "2"]}': 'expected {"tree": "..."}',
    "{": "Expecting property name",
    '{"tree": "(MAX 1 2 3 4 5 6)"}': "arity",
}


def start(*arguments):
    """An example that runs, with its standard output."""
    environment = processes.environment()
    environment["PYTHONPATH"] += os.pathsep + str(EXAMPLES)
    return subprocess.Popen(
        [sys.executable, EXAMPLES / "serve.py", "--units=8", *arguments],
        env=environment | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(port, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/", body)
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


@contextlib.contextmanager
def serving(*arguments):
    """The port of a server."""
    process = start(*arguments)
    try:
        urls = (line for line in process.stdout if line.startswith("http://"))
        url = next(urls, None)
        assert url is not None, f"The server ended with status {process.wait()}."
        yield int(url.rstrip("/\n").rpartition(":")[2])
    finally:
        process.kill()
        process.wait()


@pytest.fixture(scope="module", params=["trained", ".keras", "SavedModel"])
def server(request, tmp_path_factory):
    """The port of a server, and its model."""
    path = tmp_path_factory.getbasetemp() / "serve.keras"
    flag = f"--model={path}"
    if request.param == "trained":
        flag = f"--save={path}"
    elif request.param == "SavedModel":
        flag = f"--model={path.with_suffix('')}"
        keras.models.load_model(path).export(path.with_suffix(""), verbose=False)
    # Requests that come at the same time wait for each other.
    with serving("--examples=400", "--wait_ms=200", "--batch_size=9", flag) as port:
        yield port, keras.models.load_model(path)


def test_answers_are_those_of_the_model(server):
    port, model = server
    bodies = [json.dumps({"tree": tree}) for tree in TREES] + list(BAD)
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        answers = list(pool.map(ask, [port] * len(bodies), bodies))
    assert time.monotonic() - started < 30
    for (status, answer), message in zip(answers[len(TREES) :], BAD.values(), strict=True):
        assert status == 400 and message in answer["error"], answer
    for tree, (status, answer) in zip(TREES, answers, strict=False):
        parsed = cavs.data.bracket_tree(tree, labelled=False)
        graphs = cavs.GraphBatch.from_children([parsed["children"]])
        want = model.predict(
            tf.data.Dataset.from_tensors({**graphs.to_dict(), "word": parsed["word"]}), verbose=0
        )
        assert status == 200, answer
        np.testing.assert_allclose(answer["prediction"], want[0], rtol=1e-4, atol=1e-6)


def test_lives_on(server):
    port, _ = server
    assert ask(port, "")[0] == 400
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest("POST", "/")
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()
    assert connection.getresponse().status == 400
    assert ask(port, json.dumps({"tree": TREES[0]}))[0] == 200


def test_as_many_as_fit_do_not_wait():
    """Two that may wait for a minute are answered as soon as both are there."""
    with serving("--examples=50", "--wait_ms=60000", "--batch_size=2") as port:
        body = json.dumps({"tree": TREES[0]})
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            first, second = pool.map(ask, [port] * 2, [body] * 2, timeout=30)
    assert first == second and first[0] == 200


def test_measures_latencies(tmp_path):
    lines = "(4 (3 (2 a) (4 good)) (2 film))\n(0 (1 (2 a) (0 bad)) (2 film))\n"
    for name in ("train", "test"):
        (tmp_path / f"{name}.txt").write_text(lines)
    arguments = ["--bench", "--clients=1,3", "--seconds=0.5", f"--data={tmp_path}"]
    process = start(*arguments, f"--json={tmp_path}/summary.json")
    printed, _ = process.communicate(timeout=200)
    assert process.returncode == 0
    rows = json.loads((tmp_path / "summary.json").read_text())["latencies"]
    assert [(row["clients"], row["at_once"]) for row in rows] == [(1, 1), (1, 32), (3, 1), (3, 32)]
    assert all(0 < row["p50_ms"] <= row["p99_ms"] for row in rows)
    assert f"{rows[-1]['p99_ms']:.2f}" in printed
