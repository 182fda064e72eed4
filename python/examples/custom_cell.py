"""A vertex function of one's own: Tree-FC, as in TensorFlow Fold (arXiv:1702.02181)."""

import tensorflow as tf
from _common import FLAGS, define_flags, write_summary
from absl import app, flags

import cavs_tf as cavs

define_flags()
flags.DEFINE_integer("size", 8, "Elements of a leaf, and of the state.")
flags.DEFINE_integer("epochs", 5, "Training steps.")


def main(_):
    tf.keras.utils.set_random_seed(FLAGS.seed)
    fc = tf.keras.layers.Dense(FLAGS.size, activation="relu")

    @cavs.vertex_function(state_size=FLAGS.size, arity=2)
    def tree_fc(v):
        children = tf.concat([v.gather(0), v.gather(1)], axis=1)
        state = tf.where(v.pull("is_leaf"), v.pull("leaf"), fc(children))
        v.scatter(state)
        v.push(state)

    trees = cavs.GraphBatch.concat([cavs.GraphBatch.complete_tree(depth) for depth in (1, 2, 3)])
    is_leaf = (trees.child_splits[1:] == trees.child_splits[:-1])[:, None]
    inputs = {"is_leaf": is_leaf, "leaf": tf.ones([trees.num_vertices, FLAGS.size])}
    net, optimizer, losses = cavs.keras.Graph(tree_fc), tf.keras.optimizers.SGD(0.1), []
    print(f"{trees}\n{trees.schedule()}")
    for epoch in range(FLAGS.epochs):
        with tf.GradientTape() as tape:
            losses.append(tf.reduce_mean(tf.square(net(trees, inputs) - 1.0)))
        optimizer.apply(tape.gradient(losses[-1], net.trainable_weights), net.trainable_weights)
        print(f"epoch {epoch + 1}: loss {losses[-1]:.3f}")
    write_summary(loss=[float(loss) for loss in losses])


if __name__ == "__main__":
    app.run(main)
