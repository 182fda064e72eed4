"""Trains a Tree-LSTM on several processes, which share the gradients of every step.

    python distributed.py --workers=2 --folder=/tmp/listops

starts two workers here, and starts them again from the last checkpoint when one of them dies. On a
cluster, start it once on each machine with the `TF_CONFIG` of that machine; then it is a worker
itself, `--folder` is one that all can read, and the cluster starts it again.

Every minibatch is divided by whole graphs, so that workers get about as many vertices each. After
`--checkpoint_every` steps the first worker saves model and optimizer; the data go on from there.
"""

import json
import multiprocessing
import os
import socket
import sys
import time

import keras
import tensorflow as tf
from _common import FLAGS, define_flags, write_summary
from absl import app, flags

import cavs_tf as cavs

define_flags()
flags.DEFINE_string("folder", None, "For checkpoints and losses.", required=True)
flags.DEFINE_integer("workers", 2, "Processes to start here, without TF_CONFIG.", lower_bound=1)
flags.DEFINE_integer("restarts", 3, "How often workers may be started again.", lower_bound=0)
flags.DEFINE_integer("steps", 100, "Minibatches to train on in all.", lower_bound=1)
flags.DEFINE_integer("checkpoint_every", 1, "Steps between checkpoints.", lower_bound=1)
flags.DEFINE_integer("examples", 10_000, "Expressions to generate.", lower_bound=1)
flags.DEFINE_integer("batch_size", 64, "Graphs in a minibatch, of all workers.", lower_bound=1)
flags.DEFINE_integer("units", 64, "Size of the hidden state.", lower_bound=1)

ARITY = 5
INPUTS = ("token", *cavs.keras.graph_inputs(ARITY))


def main(_):
    if "TF_CONFIG" in os.environ:
        work(json.loads(os.environ["TF_CONFIG"])["task"]["index"])
        return
    os.makedirs(FLAGS.folder, exist_ok=True)
    for _ in range(FLAGS.restarts + 1):
        if supervise(start_workers()):
            return
        print("A worker died. Starting all from the last checkpoint.", flush=True)
    sys.exit(f"Workers died {FLAGS.restarts + 1} times.")


def start_workers() -> list[multiprocessing.Process]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(FLAGS.workers)]
    cluster = {"worker": [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]}
    for s in sockets:
        s.close()
    # Forks of a process that has imported TensorFlow, which takes longer than to start again.
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["cavs_tf"])
    workers = []
    for index in range(FLAGS.workers):
        config = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": index}})
        workers.append(forks.Process(target=work_in_process, args=(index, config)))
        workers[-1].start()
        print(f"worker {index} is process {workers[-1].pid}", flush=True)
    return workers


def work_in_process(index: int, config: str) -> None:
    """A worker that was started here."""
    FLAGS(sys.argv)
    os.environ["TF_CONFIG"] = config
    work(index)


def supervise(workers: list[multiprocessing.Process]) -> bool:
    """Returns whether all workers finish; ends the others when one dies, as they wait for it."""
    try:
        while None in (codes := [worker.exitcode for worker in workers]) and not any(codes):
            time.sleep(0.1)
        return not any(codes)
    finally:
        for worker in workers:
            worker.kill()
            worker.join()


def work(index: int) -> None:
    """Trains as one of the workers."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    keras.utils.set_random_seed(FLAGS.seed)
    with strategy.scope():
        model, optimizer = tree_lstm(), keras.optimizers.Adam(0.001)
        optimizer.build(model.trainable_variables)
        step = tf.Variable(0, dtype=tf.int64)
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step)
    manager = tf.train.CheckpointManager(checkpoint, FLAGS.folder, max_to_keep=2)
    checkpoint.restore(manager.latest_checkpoint)
    train_step = make_train_step(strategy, model, optimizer)
    first = int(step.numpy())
    iterator = iter(strategy.distribute_datasets_from_function(lambda c: minibatches(c, first)))
    graphs, losses = 0, {}
    for number in range(first + 1, FLAGS.steps + 1):
        if number == first + 2:  # The first step also traced and compiled.
            graphs, started = 0, time.perf_counter()
        loss, count = train_step(iterator)
        losses[number], graphs = float(loss), graphs + int(count)
        step.assign(number)
        if index == 0:
            # A line and its end in one write: the workers share the output.
            print(f"step {number}: loss {losses[number]:.6f}\n", end="", flush=True)
            if number % FLAGS.checkpoint_every == 0 or number == FLAGS.steps:
                manager.save(number)
    speed = None
    if len(losses) > 1:
        speed = graphs / (time.perf_counter() - started)
        print(f"worker {index}: {speed:,.0f} graphs per second\n", end="", flush=True)
    if index == 0:
        write_summary(loss=losses, trees_per_second=speed)


def tree_lstm() -> keras.Model:
    graphs = cavs.keras.graph_inputs(ARITY)
    token = keras.Input((), dtype="int32", name="token")
    rows = keras.layers.Embedding(len(cavs.data.LISTOPS_TOKENS), FLAGS.units)(token)
    root = cavs.keras.TreeLSTM(FLAGS.units, ARITY)(graphs, rows)
    return keras.Model({**graphs, "token": token}, keras.layers.Dense(10)(root))


def minibatches(context: tf.distribute.InputContext, step: int) -> tf.data.Dataset:
    """This worker's part of every minibatch after that step, without end."""
    examples = cavs.data.listops(FLAGS.examples, seed=FLAGS.seed)
    examples = examples.shuffle(FLAGS.examples, seed=FLAGS.seed).repeat()
    examples = examples.skip(step * FLAGS.batch_size)
    return cavs.data.batch(examples, FLAGS.batch_size, arity=ARITY, as_dict=True, replicas=context)


def make_train_step(strategy, model, optimizer):
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def on_replica(batch):
        with tf.GradientTape() as tape:
            logits = model({name: batch[name] for name in INPUTS}, training=True)
            # In a strategy's scope Keras divides by the number of replicas.
            loss = loss_of(batch["label"], logits, sample_weight=batch["graph_weight"])
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply(gradients, model.trainable_variables)
        return loss, tf.size(batch["label"])

    @tf.function
    def train_step(iterator):
        losses, counts = strategy.run(on_replica, (next(iterator),))
        here = tf.add_n(strategy.experimental_local_results(counts))
        return strategy.reduce("SUM", losses, axis=None), here

    return train_step


if __name__ == "__main__":
    app.run(main)
