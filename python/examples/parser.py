"""Trains a shift-reduce parser of binary trees, and parses by its own values.

    python parser.py [--sst=<folder with train.txt and test.txt>]

A parser reads a sentence with a stack of trees. It shifts the next word onto the stack, or it
reduces: the two trees on top become the children of a new one. The states of these two and of the
next word say what it does, so the tree grows while its values are computed. Trees to learn from
are known, and one call evaluates a minibatch of them; trees that are parsed grow by `extend`, a
vertex for every sentence that reduces, many sentences side by side.

Sentences are expressions of ListOps without brackets, MAX 2 9 MIN 4 7 0, as left-branching trees,
((MAX 2) 9). An operator has 2 to --max_args arguments, so where it ends is not always certain. With
--sst, sentences and trees are those of the Stanford Sentiment Treebank.

Source: the stack of trees whose states choose what is next is that of Bowman et al. 2016,
arXiv:1603.06021.
"""

import os
import time

import keras
import numpy as np
import tensorflow as tf
from _common import FLAGS, define_flags, write_summary
from absl import app, flags

import cavs_tf as cavs

define_flags()
flags.DEFINE_string("sst", None, "Folder with train.txt and test.txt; none: expressions.")
flags.DEFINE_integer("train_examples", 10_000, "Trees to learn from, at most.", lower_bound=1)
flags.DEFINE_integer("test_examples", 1_000, "Unseen sentences, at most.", lower_bound=1)
flags.DEFINE_integer("max_args", 3, "Most arguments of an operator.", lower_bound=2)
flags.DEFINE_integer("units", 128, "Size of the hidden state.", lower_bound=1)
flags.DEFINE_integer("epochs", 5, "Passes over the training trees.", lower_bound=1)
flags.DEFINE_integer("batch_size", 32, "Trees in a minibatch of training.", lower_bound=1)
flags.DEFINE_integer("side_by_side", 64, "Sentences that are parsed together.", lower_bound=1)
flags.DEFINE_integer("beam", 8, "Hypotheses of each sentence.", lower_bound=1)

SHIFT, REDUCE, NOTHING = 0, 1, 2  # The last for sentences that end before others.


def main(_):
    # One operator at a time: those of cavs_tf use all threads themselves.
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(FLAGS.seed)
    train, test, num_words = treebank() if FLAGS.sst else expressions()
    parser = Parser(num_words)
    history = parser.train(train)

    gold = [brackets(example(tree)["children"]) for tree in test]
    sentences = [tree[tree >= 0] for tree in test]
    print(f"\n{len(sentences):,} unseen sentences, {FLAGS.side_by_side} side by side")
    summary = {}
    for beam in (1, FLAGS.beam):
        found, speed = parse_all(parser, sentences, beam)
        again, slow = parse_all(parser, sentences, beam, all_again=True)
        agree = np.mean([one == other for one, other in zip(found, again, strict=True)])
        assert agree >= 0.99, f"Trees differ by more than rounding: {agree:.1%} are equal."
        f1 = bracket_f1(found, gold)
        print(
            f"beam of {beam}: bracket F1 {f1:.1%}, {speed:,.0f} sentences/s; "
            f"{slow:,.0f} where each action evaluates all vertices again"
        )
        summary[f"beam of {beam}"] = {"f1": f1, "per_second": speed, "per_second_again": slow}
    for name, tree in {"left": left_branching, "right": right_branching}.items():
        f1 = bracket_f1([brackets(example(tree(words))["children"]) for words in sentences], gold)
        print(f"{name}-branching trees: bracket F1 {f1:.1%}")
        summary[name] = {"f1": f1}
    write_summary(loss=history.history["loss"], parsed=summary)


# --- trees: the tokens of words in post-order, and -1 for every inner vertex


def expressions():
    """Trees to learn from, unseen ones, and the number of words."""

    def post_order(children, token, vertex=0):
        tree = [token[vertex]]
        for child in children[vertex][children[vertex] >= 0]:
            tree += [*post_order(children, token, child), -1]
        return tree

    count = FLAGS.test_examples + FLAGS.train_examples
    made = cavs.data.listops(count, FLAGS.seed, max_args=FLAGS.max_args).as_numpy_iterator()
    trees = [np.array(post_order(e["children"], e["token"])) for e in made]
    test, train = trees[: FLAGS.test_examples], trees[FLAGS.test_examples :]
    return train, test, len(cavs.data.LISTOPS_TOKENS)


def treebank():
    """As `expressions`."""
    train, test = (os.path.join(FLAGS.sst, f"{name}.txt") for name in ("train", "test"))
    vocabulary = cavs.data.ptb_vocabulary(train, min_count=2)

    def trees(path, most):
        read = cavs.data.ptb_trees(path, vocabulary).take(most).as_numpy_iterator()
        return [np.where(tree["inner"], -1, tree["token"]) for tree in read]

    return trees(train, FLAGS.train_examples), trees(test, FLAGS.test_examples), len(vocabulary)


def left_branching(words):
    return np.array([words[0], *(token for word in words[1:] for token in (word, -1))])


def right_branching(words):
    return np.array([*words, *[-1] * (len(words) - 1)])


def example(tree) -> dict:
    """The features of a tree, whose vertices are made by one action each.

    The action is chosen by what it `reads`: the vertex on top of the stack, the second one, and
    the next word; -1 for none.
    """
    stack, children, reads = [-1, -1], [], []
    words = [*np.flatnonzero(tree >= 0), -1]
    for vertex, token in enumerate(tree):
        *_, second, top = stack
        reads.append([top, second, words[0]])
        children.append([second, top] if token < 0 else [-1, -1])
        if token < 0:
            stack[-2:] = [vertex]
        else:
            stack.append(words.pop(0))
    return {"children": children, "token": tree, "reads": reads, "action": tree < 0}


def brackets(children, root=-1) -> set:
    """The words (begin, end) below each inner vertex but the root, of which they are known."""

    def walk(vertex, begin):
        left, right = children[vertex]
        if left < 0:
            return begin + 1
        found.append((begin, walk(right, walk(left, begin))))
        return found[-1][1]

    found = []
    walk(root, 0)
    return set(found[:-1])


def bracket_f1(found, gold) -> float:
    """Of all brackets; as many are found as there are, so that this is precision and recall."""
    right = sum(len(one & other) for one, other in zip(found, gold, strict=True))
    return right / max(1, sum(map(len, gold)))


# --- the parser


class Parser:
    """A model of trees, and of what a parser does next."""

    def __init__(self, num_words: int):
        self.embed = cavs.keras.Embedding(num_words, FLAGS.units, mask_negative=True)
        self.encode = cavs.keras.TreeGRU(FLAGS.units, 2, "n_ary", return_vertices=True)
        hidden = keras.layers.Dense(FLAGS.units, activation="relu")
        self.choose = keras.Sequential([hidden, keras.layers.Dense(2)])

    def train(self, trees):
        graphs = cavs.keras.graph_inputs(2)
        token = keras.Input((), dtype="int32", name="token")
        reads = keras.Input((3,), dtype="int32", name="reads")
        states = self.encode(graphs, self.embed(token))
        logits = self.choose(Read()(graphs, states, reads))
        model = keras.Model({**graphs, "token": token, "reads": reads}, logits)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(cavs.keras.LazyAdam(0.002, clipnorm=1.0), loss, metrics=["accuracy"])

        made = [example(tree) for tree in trees]
        rows = {k: np.concatenate([e[k] for e in made]).astype(np.int32) for k in made[0]}
        examples = cavs.data.from_arrays(np.cumsum([0, *map(len, trees)]), rows, {})
        shuffled = examples.shuffle(len(trees), seed=FLAGS.seed)
        batches = cavs.data.batch(shuffled, FLAGS.batch_size, arity=2, as_dict=True)
        batches = cavs.keras.for_fit(batches, model, "action")
        return model.fit(batches, epochs=FLAGS.epochs, shuffle=False, verbose=2)

    def parse(self, sentences, beam, all_again):
        """Parses sentences [B, (words)] with K = `beam` hypotheses each.

        Hypotheses share one table of vertices, of which words are the first rows, and keep rows
        of it. Without `all_again` only new vertices are evaluated.

        Returns:
          (children [n, 2], roots [B]): the table, and the row of each sentence's best tree.
        """
        splits, num_words = sentences.row_splits, tf.size(sentences.values)
        ends, most = tf.repeat(splits[1:], beam), tf.reduce_max(sentences.row_lengths())
        words = cavs.VertexRows(self.embed(sentences.values).rows, tf.range(num_words))
        nothing = cavs.VertexRows(words.rows[:0], words.vertices[:0])  # Of inner vertices.

        def step(states, children, stack, word, score):
            """One action of every hypothesis: its stack [B K, depth], next word and score."""
            next_word = tf.where(word < ends, word, -1)
            logits = self.choose(read(states, tf.concat([stack[:, :2], next_word[:, None]], 1)))
            score, own, action = best_actions(score, logits, next_word >= 0, stack[:, 1] >= 0)
            stack, word = tf.gather(stack, own), tf.gather(word, own)
            reduces = tf.where(action == REDUCE)
            new = tf.gather(stack[:, 1::-1], reduces[:, 0])
            rows = tf.shape(children)[0] + tf.range(tf.shape(new)[0])
            stack = moved(stack, action, word, tf.tensor_scatter_nd_update(word, reduces, rows))
            word += tf.cast(action == SHIFT, tf.int32)
            children = tf.concat([children, new], 0)
            if all_again:
                states = self.encode.extend(None, children, words)[1]
            else:
                states = tf.concat([states, self.encode.extend(states, new, nothing)[1]], 0)
            return states, children, stack, word, score

        leaves = tf.fill([num_words, 2], -1)
        first = (
            self.encode.extend(None, leaves, words)[1],
            leaves,
            tf.fill([tf.size(ends), tf.maximum(most, 2)], -1),
            tf.repeat(splits[:-1], beam),
            tf.tile([[0.0] + [-np.inf] * (beam - 1)], [tf.size(splits) - 1, 1]),
        )
        shapes = [[None, FLAGS.units], [None, 2], [None, None], [None], [None, beam]]
        _, children, stack, *_ = tf.while_loop(
            lambda *_: True,
            step,
            first,
            tuple(tf.TensorShape(shape) for shape in shapes),
            maximum_iterations=2 * most - 1,
        )
        return children, stack[::beam, 0]


def best_actions(score, logits, may_shift, may_reduce):
    """The best K hypotheses of each sentence, of those that K hypotheses [B K] can become.

    Returns:
      (score [B, K], own [B K], action [B K]): each goes on from the hypothesis `own`.
    """
    beam = score.shape[1]
    gain = tf.concat([tf.nn.log_softmax(logits), tf.zeros_like(logits[:, :1])], 1)
    may = tf.stack([may_shift, may_reduce, ~(may_shift | may_reduce)], 1)
    score = tf.reshape(score, [-1, 1]) + tf.where(may, gain, -np.inf)
    score, best = tf.math.top_k(tf.reshape(score, [-1, 3 * beam]), beam)
    own = best // 3 + beam * tf.range(tf.shape(best)[0])[:, None]
    action = tf.where(score > -np.inf, best % 3, NOTHING)  # At first there are fewer than K.
    return score, tf.reshape(own, [-1]), tf.reshape(action, [-1])


def moved(stack, action, word, tree):
    """Stacks after an action each, by which a word or a tree comes on top."""
    missing = tf.fill([tf.size(word), 1], -1)
    shifted = tf.concat([word[:, None], stack[:, :-1]], 1)
    reduced = tf.concat([tree[:, None], stack[:, 2:], missing], 1)
    action = action[:, None]
    return tf.where(action == SHIFT, shifted, tf.where(action == REDUCE, reduced, stack))


class Read(keras.layers.Layer):
    """What each action of known trees is chosen by."""

    def call(self, graphs, states, reads):
        graphs = cavs.GraphBatch.from_dict(graphs)
        first = tf.gather(graphs.graph_splits, graphs.vertex_graph)[:, None]
        return read(states, tf.where(reads < 0, -1, reads + first))


def read(states, rows):
    """The states of rows [n, 3], side by side; zeros for -1."""
    found = tf.gather(states, tf.maximum(rows, 0))
    found = tf.where(rows[:, :, None] < 0, 0.0, found)
    return tf.reshape(found, [-1, 3 * FLAGS.units])


def parse_all(parser, sentences, beam, all_again=False):
    """The brackets of all sentences, and how many sentences were parsed in a second."""
    ragged = tf.ragged.constant(sentences, tf.int32, row_splits_dtype=tf.int32)
    batches = tf.data.Dataset.from_tensor_slices(ragged).ragged_batch(
        FLAGS.side_by_side, row_splits_dtype=tf.int32
    )
    parse = tf.function(
        lambda sentences: parser.parse(sentences, beam, all_again),
        input_signature=[batches.element_spec],  # Compiled once, for sentences of any length.
    )
    batches = list(batches)
    parse(batches[0])
    started = time.perf_counter()
    parsed = [parse(batch) for batch in batches]
    seconds = time.perf_counter() - started
    found = [brackets(c.numpy(), root) for c, roots in parsed for root in roots.numpy()]
    return found, len(sentences) / seconds


if __name__ == "__main__":
    app.run(main)
