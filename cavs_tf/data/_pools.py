"""Minibatches whose examples are chosen from a pool of consecutive examples.

A pool is read whole. Its examples are put in order and cut into minibatches of as many as fit. The
minibatches come in this order, or shuffled.
"""

import dataclasses

import tensorflow as tf

from cavs_tf._values.integers import check_at_least, list_of_each, rejected_unless
from cavs_tf.data._structures import Structure
from cavs_tf.graphs._graph_batch import GraphBatch

BUCKETS = ("size", "depth")
_POOL = 1000


@dataclasses.dataclass(frozen=True)
class Pools:
    """How examples are chosen, by arguments of `batch`."""

    batch_size: int | None
    max_vertices: int | None
    bucket_by: str | None
    pool: int
    seed: int | None

    def minibatches(self, dataset: tf.data.Dataset, structures: list[Structure]) -> tf.data.Dataset:
        """The examples of each minibatch, batched."""
        pools = batched(dataset, self.pool)
        # New numbers for every pool of every epoch, the same whenever a program runs.
        random = tf.data.Dataset.random(self.seed, rerandomize_each_iteration=True).batch(2)

        @tf.autograph.experimental.do_not_convert
        def cut(index, pool, seed):
            sizes = tf.add_n([structure.rows(pool) for structure in structures])
            with tf.control_dependencies(self._check_sizes(index, sizes)):
                sizes = tf.identity(sizes)  # Cutting sizes that are too large would never end.
            order = tf.range(tf.size(sizes))
            if self.bucket_by is not None:
                key = sizes if self.bucket_by == "size" else _depths(structures, pool)
                # In float64 sizes stay apart. The noise shuffles examples of equal keys.
                noise = tf.random.stateless_uniform(tf.shape(key), seed, dtype=tf.float64)
                order = tf.argsort(tf.cast(key, tf.float64) + noise)
            splits = self._cut(tf.gather(sizes, order))
            minibatches = tf.range(tf.size(splits) - 1)
            if self.bucket_by is not None:
                minibatches = tf.random.experimental.stateless_shuffle(minibatches, seed)

            def examples(minibatch):
                chosen = order[splits[minibatch] : splits[minibatch + 1]]
                return tf.nest.map_structure(lambda feature: tf.gather(feature, chosen), pool)

            return tf.data.Dataset.from_tensor_slices(minibatches).map(examples)

        pools = tf.data.Dataset.zip(tf.data.Dataset.range(2**62), pools.prefetch(1), random)
        batches = pools.flat_map(cut)
        count = self._number(int(dataset.cardinality()))
        return batches.apply(tf.data.experimental.assert_cardinality(count)) if count else batches

    def _number(self, num_examples: int) -> int | None:
        """The number of minibatches; negative as in tf.data, None if it is not known."""
        if self.max_vertices is not None or num_examples == tf.data.UNKNOWN_CARDINALITY:
            return None
        if num_examples == tf.data.INFINITE_CARDINALITY:
            return num_examples
        full, rest = divmod(num_examples, self.pool)
        return full * -(-self.pool // self.batch_size) + -(-rest // self.batch_size)

    def _check_sizes(self, index, sizes) -> list:
        if self.max_vertices is None:
            return []
        wrong = tf.where(sizes > self.max_vertices)[:1, 0]
        return rejected_unless(
            tf.size(wrong) == 0,
            "dataset[{}]: got {} vertices but expected at most max_vertices, {}. Raise "
            "max_vertices, or filter the examples.",
            index * self.pool + wrong,
            tf.gather(sizes, wrong),
            self.max_vertices,
        )

    def _cut(self, sizes) -> tf.Tensor:
        """int32 [n + 1], from 0: the splits between minibatches of examples of these sizes."""
        count = tf.size(sizes)
        ends = tf.repeat(count, count)  # Where a minibatch ends that begins at each example.
        if self.max_vertices is not None:
            total = tf.cumsum(tf.cast(sizes, tf.int64))
            most = total - tf.cast(sizes, tf.int64) + self.max_vertices
            ends = tf.searchsorted(total, most, side="right")
        if self.batch_size is not None:
            ends = tf.minimum(ends, tf.range(count) + self.batch_size)
        _, splits = tf.while_loop(
            lambda begin, _: begin < count,
            lambda begin, splits: (ends[begin], tf.concat([splits, ends[begin : begin + 1]], 0)),
            (0, tf.zeros([1], tf.int32)),
            (tf.TensorShape([]), tf.TensorShape([None])),
        )
        return splits


def batched(dataset: tf.data.Dataset, size: int, drop_remainder=False) -> tf.data.Dataset:
    """Consecutive examples, each feature as a tensor or, where sizes differ, as a RaggedTensor."""
    if all(map(_batches_as_it_is, tf.nest.flatten(dataset.element_spec))):
        return dataset.batch(size, drop_remainder)
    return dataset.ragged_batch(size, drop_remainder)


def _batches_as_it_is(feature: tf.TypeSpec) -> bool:
    """Whether elements stack although their sizes differ, or have one size."""
    return isinstance(feature, tf.RaggedTensorSpec) or feature.shape.is_fully_defined()


def pools_of(batch_size, max_vertices, bucket_by, pool, seed, drop_remainder) -> Pools | None:
    """Checks these arguments of `batch`. Returns None if they ask for no pools."""
    for name, value in (("batch_size", batch_size), ("max_vertices", max_vertices), ("pool", pool)):
        if value is not None:
            check_at_least(1, **{name: value})
    if batch_size is None and max_vertices is None:
        raise ValueError(
            "batch_size: got None but expected an int of at least 1, or a number of vertices as "
            "max_vertices. Pass one or both."
        )
    if bucket_by not in (None, *BUCKETS):
        raise ValueError(
            f"bucket_by: got {bucket_by!r} but expected one of {', '.join(map(repr, BUCKETS))}, or "
            "None. Leave it out to keep the order."
        )
    if seed is not None and not isinstance(seed, int):
        raise ValueError(f"seed: got {seed!r} but expected an int, or None. Leave it out.")
    if seed is not None and bucket_by is None:
        raise ValueError(
            f"seed: got {seed} but expected None without bucket_by, as nothing is shuffled. "
            "Shuffle the dataset before."
        )
    if max_vertices is None and bucket_by is None:
        if pool is not None:
            raise ValueError(
                f"pool: got {pool} but expected None without max_vertices or bucket_by. Leave it "
                "out."
            )
        return None
    if drop_remainder:
        raise ValueError(
            "drop_remainder: got True but expected False with max_vertices or bucket_by, whose "
            "minibatches have no common number of examples. Leave it out."
        )
    return Pools(batch_size, max_vertices, bucket_by, _POOL if pool is None else pool, seed)


def _depths(structures: list[Structure], examples: dict) -> tf.Tensor:
    """int32 [B]: the numbers of vertices on the longest paths of each example, added up."""
    depths = []
    for structure in structures:
        graphs, _ = structure.side_by_side(examples)
        # Tasks of vertices of one type are levels of depth.
        graphs = GraphBatch(graphs.child_splits, graphs.child_ids, graphs.graph_splits)
        schedule = graphs.schedule(structure.arity, edges=structure.edges)
        task = list_of_each(schedule.task_splits, graphs.num_vertices)
        graph = tf.gather(graphs.vertex_graph, schedule.order)
        deepest = tf.math.unsorted_segment_max(task + 1, graph, graphs.num_graphs)
        depths.append(tf.maximum(deepest, 0))  # Of a graph without vertices.
    return tf.add_n(depths)
