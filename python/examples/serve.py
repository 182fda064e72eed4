"""Serves a Tree-LSTM over HTTP: one call of the model answers several requests.

    python serve.py --port=8000
    curl -d '{"tree": "(MAX 2 (MIN 9 4) 0)"}' http://127.0.0.1:8000/

A request waits until there are --batch_size of them, or the first has waited for --wait_ms. One
that cannot be answered gets status 400 and the reason, and spoils no other. The model is trained
at the start, on made expressions or, with --data, on the Stanford Sentiment Treebank; or loaded
by --model. --bench measures latencies, without and with batching.
"""

import concurrent.futures
import http.server
import json
import os
import pathlib
import queue
import re
import threading
import time

import keras
import numpy as np
import serve_clients
import tensorflow as tf
from _common import FLAGS, define_flags, write_summary
from absl import app, flags

import cavs_tf as cavs

define_flags()
flags.DEFINE_integer("port", 0, "Of the loopback interface; 0: any that is free.")
flags.DEFINE_integer("batch_size", 32, "Most trees in a call of the model.", lower_bound=1)
flags.DEFINE_float("wait_ms", 2, "How long a request waits for others.", lower_bound=0)
flags.DEFINE_string("model", None, "A .keras file or a SavedModel of 'word' and graphs.")
flags.DEFINE_string("save", None, "Where to save the model that was trained, as .keras.")
flags.DEFINE_string("data", None, "Folder with train.txt and test.txt of SST; none: made trees.")
flags.DEFINE_integer("examples", 4000, "Trees to learn from.", lower_bound=1)
flags.DEFINE_integer("units", 128, "Size of the hidden state.", lower_bound=1)
flags.DEFINE_boolean("bench", False, "Whether to measure, and end then.")
flags.DEFINE_list("clients", ["1", "8", "64"], "How many ask at the same time, with --bench.")
flags.DEFINE_float("seconds", 5, "That each measurement takes.", lower_bound=0)

LONGEST_REQUEST = 1 << 20


class Batcher:
    """Answers trees that come one by one with a model that takes many.

    Any thread may call `predict`; a thread of its own calls the model.
    """

    def __init__(self, model, batch_size: int, wait_ms: float):
        self._model, self._batch_size, self._wait = model, batch_size, wait_ms / 1000
        self._waiting = queue.SimpleQueue()
        threading.Thread(target=self._run, daemon=True).start()

    def predict(self, tree: dict) -> np.ndarray:
        """What the model says of a tree; raises what it raises for this one."""
        answer = concurrent.futures.Future()
        self._waiting.put((tree, answer, time.monotonic() + self._wait))
        return answer.result()

    def _run(self):
        while True:
            batch = [self._waiting.get()]
            _, _, until = batch[0]
            try:
                while len(batch) < self._batch_size:
                    batch.append(self._waiting.get(timeout=max(until - time.monotonic(), 0)))
            except queue.Empty:
                pass
            self._answer(batch)

    def _answer(self, batch):
        trees, answers, _ = zip(*batch, strict=True)
        try:
            rows = self._model(minibatch(trees)).numpy()
        except Exception as error:
            if len(batch) == 1:
                answers[0].set_exception(error)
            else:  # Those that are right are answered without the one that is not.
                for request in batch:
                    self._answer([request])
        else:
            for answer, row in zip(answers, rows, strict=True):
                answer.set_result(row)


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers {"tree": "(a (b c))"} with {"prediction": [...]}, or with {"error": "..."}."""

    protocol_version = "HTTP/1.1"  # A client keeps its connection.
    disable_nagle_algorithm = True

    def do_POST(self):
        try:
            self._reply(200, prediction=self.server.batcher.predict(self._tree()).tolist())
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            self._reply(400, error=getattr(error, "message", str(error)))
        except Exception as error:
            self._reply(500, error=f"{type(error).__name__}: {error}")

    def _tree(self) -> dict:
        length = int(self.headers.get("Content-Length", 0))
        if not 0 <= length <= LONGEST_REQUEST:
            self.close_connection = True  # What was not read would be taken for a request.
            raise ValueError(f"got {length} bytes but expected at most {LONGEST_REQUEST}.")
        request = json.loads(self.rfile.read(length))
        if not isinstance(request, dict) or not isinstance(request.get("tree"), str):
            raise ValueError('expected {"tree": "..."}, with a tree such as "(MAX 2 (MIN 9 4))".')
        return cavs.data.bracket_tree(request["tree"], labelled=False)

    def _reply(self, status: int, **fields):
        body = json.dumps(fields).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Writes nothing: a line for each request would take as long as the request."""


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128  # Clients that connect at the same time.

    def __init__(self, batcher: Batcher, port: int = 0):
        super().__init__(("127.0.0.1", port), Handler)
        self.batcher = batcher
        threading.Thread(target=self.serve_forever, daemon=True).start()


def main(_):
    keras.utils.set_random_seed(FLAGS.seed)
    texts, labels = treebank("train") if FLAGS.data else expressions()
    predict = loaded(FLAGS.model) if FLAGS.model else traced(trained(texts, labels))
    trees = [cavs.data.bracket_tree(text, labelled=False) for text in texts[: FLAGS.batch_size]]
    for size in range(1, len(trees) + 1):  # No request pays for what is done only once.
        predict(minibatch(trees[:size]))
    if not FLAGS.bench:
        server = Server(Batcher(predict, FLAGS.batch_size, FLAGS.wait_ms), FLAGS.port)
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        threading.Event().wait()
    ports = {
        n: Server(Batcher(predict, n, FLAGS.wait_ms)).server_port for n in (1, FLAGS.batch_size)
    }
    requests = treebank("test")[0] if FLAGS.data else texts
    rows = serve_clients.measure(ports, map(int, FLAGS.clients), FLAGS.seconds, requests)
    write_summary(latencies=rows, trees_per_second=max(row["trees_per_second"] for row in rows))


def expressions():
    """Expressions as text, and their values."""
    made = cavs.data.listops(FLAGS.examples, FLAGS.seed, max_args=3).as_numpy_iterator()
    made = [(cavs.data.listops_text(e["children"], e["token"]), int(e["label"])) for e in made]
    return [text.translate(str.maketrans("[]", "()")) for text, _ in made], [v for _, v in made]


def treebank(name: str):
    """Trees of sentences as text, and their labels, which are not part of it."""
    lines = pathlib.Path(FLAGS.data, f"{name}.txt").read_text("utf-8").splitlines()
    lines = lines[: FLAGS.examples]
    leaves_are_words = [re.sub(r"\(\d ([^()]+)\)", r"\1", line) for line in lines]
    return [re.sub(r"\(\d ", "(", line) for line in leaves_are_words], [int(n[1]) for n in lines]


def trained(texts, labels) -> keras.Model:
    """A model of words, as strings, and of graphs, which plans how it evaluates them itself."""
    trees = [cavs.data.bracket_tree(text, labelled=False) for text in texts]
    words = [word for tree in trees for word in tree["word"]]
    children = [tree["children"] for tree in trees]
    arity = max(len(slots) for tree in children for slots in tree)

    graphs, word = cavs.keras.graph_inputs(), keras.Input((), dtype="string", name="word")
    lookup = keras.layers.StringLookup(vocabulary=sorted({*words} - {""}), mask_token="")
    rows = keras.layers.Embedding(lookup.vocabulary_size(), FLAGS.units)(lookup(word))
    roots = cavs.keras.TreeLSTM(FLAGS.units, arity, "n_ary")(graphs, rows)
    classes = keras.layers.Dense(max(labels) + 1, activation="softmax")(roots)
    model = keras.Model({**graphs, "word": word}, classes)
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])

    batch = cavs.GraphBatch.from_children(children)
    examples = cavs.data.from_graphs(batch, {"word": words}, {"label": labels})
    batches = cavs.data.batch(examples, 32, arity=arity, as_dict=True)
    model.fit(cavs.keras.for_fit(batches, model.input, "label"), shuffle=False, verbose=2)
    if FLAGS.save:
        model.save(FLAGS.save)
    return model


def loaded(path: str):
    """The function of a model that was saved."""
    if os.path.isdir(path):
        saved = tf.saved_model.load(path)
        return lambda inputs: saved.serve(inputs)  # Which keeps its variables.
    return traced(keras.models.load_model(path))


def traced(model: keras.Model):
    """The function of a model, traced once for minibatches of all sizes."""
    spec = {name: tf.TensorSpec(x.shape, x.dtype, name) for name, x in model.input.items()}
    return tf.function(lambda inputs: model(inputs, training=False), input_signature=[spec])


def minibatch(trees) -> dict:
    graphs = cavs.GraphBatch.from_children([tree["children"] for tree in trees])
    return graphs.to_dict() | {"word": tf.constant([word for t in trees for word in t["word"]])}


if __name__ == "__main__":
    app.run(main)
