"""Trains an encoder of trees and a decoder that grows them again, from the root down.

The trees are expressions such as [MAX 2 9 [MIN 4 7 ] 0 ] (`cavs_tf.data.listops`). A Tree-GRU
encodes one. A GRU from parents to children decodes it: the state of a vertex says its token and how
many children follow. Known trees are evaluated in one call, as the encoder's graphs backwards. A
tree that is written grows by `extend`, one level of all trees at a time.
"""

import keras
import numpy as np
import tensorflow as tf
from _common import FLAGS, define_flags, write_summary
from absl import app, flags

import cavs_tf as cavs

define_flags()
flags.DEFINE_integer("train_examples", 10_000, "Expressions to learn from.", lower_bound=1)
flags.DEFINE_integer("test_examples", 500, "Unseen expressions.", lower_bound=1)
flags.DEFINE_integer("max_depth", 3, "Most operators around a digit.", lower_bound=1)
flags.DEFINE_integer("max_args", 3, "Most arguments of an operator.", lower_bound=2)
flags.DEFINE_integer("units", 128, "Size of the hidden states.", lower_bound=1)
flags.DEFINE_integer("epochs", 10, "Passes over the training expressions.", lower_bound=1)
flags.DEFINE_integer("batch_size", 32, "Expressions in a minibatch.", lower_bound=1)

TOKENS = len(cavs.data.LISTOPS_TOKENS)


def main(_):
    # One operator at a time: those of cavs_tf use all threads themselves.
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(FLAGS.seed)
    examples = cavs.data.listops(
        FLAGS.test_examples + FLAGS.train_examples,
        FLAGS.seed,
        max_depth=FLAGS.max_depth,
        max_args=FLAGS.max_args,
    ).map(with_places)
    test, train = examples.take(FLAGS.test_examples), examples.skip(FLAGS.test_examples)
    coder = Coder()
    history = coder.train(train.cache().shuffle(FLAGS.train_examples, seed=FLAGS.seed))

    wanted = [cavs.data.listops_text(e["children"], e["token"]) for e in test.as_numpy_iterator()]
    written = coder.write(test)
    for pair in list(zip(wanted, written, strict=True))[:3]:
        print("{}  is written  {}".format(*pair))
    accuracy = np.mean([one == other for one, other in zip(wanted, written, strict=True)])
    print(f"{accuracy:.1%} of {len(wanted):,} unseen expressions are written without error")
    write_summary(accuracy=accuracy, loss=history.history["loss"])


def kind_of(token, count):
    """A number for a token with so many children; 0 is for what is above a root."""
    return 1 + token * (FLAGS.max_args + 1) + count


def with_places(tree) -> dict:
    """A tree with what the decoder is told of each vertex: its slot, and what its parent is."""
    children = tree["children"]
    count = tf.reduce_sum(tf.cast(children >= 0, tf.int32), axis=1)
    places = tf.where(children >= 0)
    parent, slot = tf.unstack(tf.cast(places, tf.int32), axis=1)
    own = tf.gather_nd(children, places)[:, None]
    kind = tf.gather(kind_of(tree["token"], count), parent)
    num_vertices = tf.shape(children)[:1]
    return {
        **{name: tree[name] for name in ("children", "token")},
        "count": count,
        "slot": tf.scatter_nd(own, slot, num_vertices),
        "above": tf.scatter_nd(own, kind, num_vertices),
    }


class Coder:
    """A model that encodes trees and decodes them."""

    def __init__(self):
        units, kinds = FLAGS.units, kind_of(TOKENS - 1, FLAGS.max_args) + 1
        self.embed = keras.layers.Embedding(TOKENS, units)
        self.encode = cavs.keras.TreeGRU(units, FLAGS.max_args, "n_ary")
        self.embed_above = keras.layers.Embedding(kinds, units)
        self.embed_slot = keras.layers.Embedding(FLAGS.max_args, units)
        self.decode = cavs.keras.TreeGRU(units, 1, return_vertices=True, go_backwards=True)
        self.hidden = keras.layers.Dense(2 * units, activation="relu")
        self.logits = {
            "token": keras.layers.Dense(TOKENS),
            "count": keras.layers.Dense(FLAGS.max_args + 1),
        }

    def train(self, trees):
        graphs = cavs.keras.graph_inputs(FLAGS.max_args)
        token, above, slot = (
            keras.Input((), dtype="int32", name=name) for name in ("token", "above", "slot")
        )
        encoded = self.encode(graphs, self.embed(token))
        rows = self.decode(graphs, self._place(above, slot), initial_state=encoded)
        inputs = {**graphs, "token": token, "above": above, "slot": slot}
        model = keras.Model(inputs, self._say(rows))
        steps = FLAGS.epochs * -(-FLAGS.train_examples // FLAGS.batch_size)
        rate = keras.optimizers.schedules.CosineDecay(0.003, steps)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(
            keras.optimizers.Adam(rate, clipnorm=1.0),
            {"token": loss, "count": loss},
            metrics={"token": ["accuracy"], "count": ["accuracy"]},
        )
        batches = cavs.data.batch(trees, FLAGS.batch_size, arity=FLAGS.max_args, as_dict=True)
        batches = cavs.keras.for_fit(batches, model, {"token": "token", "count": "count"})
        return model.fit(batches, epochs=FLAGS.epochs, shuffle=False, verbose=2)

    def _place(self, above, slot):
        return self.embed_above(above) + self.embed_slot(slot)

    def _say(self, rows):
        rows = self.hidden(rows)
        return {name: layer(rows) for name, layer in self.logits.items()}

    def write(self, trees) -> list[str]:
        """The texts of trees, each from its encoding alone."""
        texts = []
        batches = cavs.data.batch(trees, 100, arity=FLAGS.max_args)
        for batch in batches:
            encoded = self.encode(batch["graphs"], self.embed(batch["token"]))
            token, parent = self.grow(encoded)
            texts += text_of(token.numpy(), parent.numpy(), len(encoded))
        return texts

    @tf.function(reduce_retracing=True)
    def grow(self, encoded):
        """Grows a tree from each row, level by level, until no vertex has children.

        Args:
          encoded: [B, units].

        Returns:
          int32 (token, parent), [n] each: the vertices of all trees, B roots first, then a level
          at a time; the parents of roots are -1.
        """

        def level(states, parent, above, slot, tokens, parents):
            """One level, over the states of the level before, which are all that is needed."""
            rows, states = self.decode.extend(states, parent[:, None], self._place(above, slot))
            said = {name: tf.argmax(x, 1, tf.int32) for name, x in self._say(rows).items()}
            parent = tf.repeat(tf.range(tf.shape(rows)[0]), said["count"])
            slot = tf.ragged.range(said["count"]).values
            above = tf.gather(kind_of(said["token"], said["count"]), parent)
            parents = tf.concat([parents, tf.size(tokens) + parent], 0)
            return states, parent, above, slot, tf.concat([tokens, said["token"]], 0), parents

        num_trees = tf.shape(encoded)[0]
        zeros = tf.zeros([num_trees], tf.int32)
        first = (encoded, tf.range(num_trees), zeros, zeros, zeros[:0], zeros - 1)
        *_, token, parent = tf.while_loop(
            lambda states, parent, *_: tf.size(parent) > 0,
            level,
            first,
            tuple(tf.TensorShape([None, *x.shape[1:]]) for x in first),
            maximum_iterations=FLAGS.max_depth + 1,
        )
        return token, parent[: tf.size(token)]  # What is deeper is left out.


def text_of(token, parent, num_trees) -> list[str]:
    """The trees as text."""
    children = [[] for _ in token]
    for vertex, above in enumerate(parent[num_trees:], num_trees):
        children[above].append(vertex)

    def write(vertex):
        word = cavs.data.LISTOPS_TOKENS[token[vertex]]
        inside = [write(child) for child in children[vertex]]
        return " ".join([word, *inside, "]"]) if inside else word

    return [write(root) for root in range(num_trees)]


if __name__ == "__main__":
    app.run(main)
