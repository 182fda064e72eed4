"""A server that answers several clients by one call of a model."""

import concurrent.futures
import contextlib
import http.client
import json
import pathlib
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


def ask(port, body):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/", body)
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


@contextlib.contextmanager
def serving(folder, *arguments):
    """The port of a server."""
    folder.mkdir()
    process = processes.start_script(EXAMPLES / "serve.py", ["--units=8", *arguments], folder)
    try:
        lines = processes.lines_of(process, folder)
        url = next((line for line in lines if line.startswith("http://")), None)
        assert url is not None, (folder / "error.txt").read_text()
        yield int(url.rstrip("/\n").rpartition(":")[2])
    finally:
        process.kill()
        process.join()


@pytest.fixture(scope="module", params=["trained", ".keras", "SavedModel"])
def server(request, tmp_path_factory):
    """The port of a server, and its model."""
    path = tmp_path_factory.getbasetemp() / "serve.keras"
    flag = f"--model={path}"
    if request.param == "trained":
        flag = f"--save={path}"
    elif not path.exists():  # This process may run none of the tests before.
        first = tmp_path_factory.mktemp("first") / "run"
        with serving(first, "--examples=100", f"--save={path}"):
            pass
    if request.param == "SavedModel":
        flag = f"--model={path.with_suffix('')}"
        keras.models.load_model(path).export(path.with_suffix(""), verbose=False)
    # Requests that come at the same time wait for each other.
    folder = tmp_path_factory.mktemp("server") / "run"
    with serving(folder, "--examples=100", "--wait_ms=200", "--batch_size=9", flag) as port:
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
    parsed = [cavs.data.bracket_tree(tree, labelled=False) for tree in TREES]
    graphs = cavs.GraphBatch.from_children([tree["children"] for tree in parsed])
    words = tf.constant([word for tree in parsed for word in tree["word"]])
    wanted = model({**graphs.to_dict(), "word": words})
    for want, (status, answer) in zip(wanted, answers, strict=False):
        assert status == 200, answer
        np.testing.assert_allclose(answer["prediction"], want, rtol=1e-4, atol=1e-6)


def test_lives_on(server):
    port, _ = server
    assert ask(port, "")[0] == 400
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.putrequest("POST", "/")
    connection.putheader("Content-Length", str(1 << 40))
    connection.endheaders()
    assert connection.getresponse().status == 400
    assert ask(port, json.dumps({"tree": TREES[0]}))[0] == 200


@pytest.mark.in_turns
def test_as_many_as_fit_do_not_wait(tmp_path):
    """Two that may wait for a minute are answered as soon as both are there."""
    flags = ("--examples=50", "--wait_ms=60000")
    with serving(tmp_path / "run", *flags, "--batch_size=2") as port:
        body = json.dumps({"tree": TREES[0]})
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            first, second = pool.map(ask, [port] * 2, [body] * 2, timeout=30)
    assert first == second and first[0] == 200


@pytest.mark.in_turns
def test_measures_latencies(tmp_path):
    lines = "(4 (3 (2 a) (4 good)) (2 film))\n(0 (1 (2 a) (0 bad)) (2 film))\n"
    for name in ("train", "test"):
        (tmp_path / f"{name}.txt").write_text(lines)
    arguments = ["--units=8", "--bench", "--clients=1,3", "--seconds=0.5", f"--data={tmp_path}"]
    arguments += [f"--json={tmp_path}/summary.json"]
    done, printed, error = processes.run_script(EXAMPLES / "serve.py", arguments, tmp_path)
    assert done, error
    rows = json.loads((tmp_path / "summary.json").read_text())["latencies"]
    assert [(row["clients"], row["at_once"]) for row in rows] == [(1, 1), (1, 32), (3, 1), (3, 32)]
    assert all(0 < row["p50_ms"] <= row["p99_ms"] for row in rows)
    assert f"{rows[-1]['p99_ms']:.2f}" in printed
