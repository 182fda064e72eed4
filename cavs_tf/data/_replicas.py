"""Global minibatches divided into one part for each replica, by whole graphs."""

import dataclasses

import tensorflow as tf

from cavs_tf._values.integers import check_at_least
from cavs_tf.data._structures import Structure

# A feature with a row for each graph of the global minibatch: Keras weighs losses by their number.
GLOBAL_GRAPHS = "global_graphs"
GRAPH_WEIGHT = "graph_weight"
VERTEX_WEIGHT = "vertex_weight"


@dataclasses.dataclass(frozen=True)
class Replicas:
    """Which parts of every global minibatch a pipeline makes.

    Attributes:
      count: The number of replicas, and so of parts.
      begin, end: The parts of this pipeline.
    """

    count: int
    begin: int
    end: int

    def parts(self, batches: tf.data.Dataset, structures: list[Structure]) -> tf.data.Dataset:
        """The examples of each part, one after the other, with their weights.

        Args:
          batches: The examples of each global minibatch, batched.
          structures: The structures of the examples.
        """

        @tf.autograph.experimental.do_not_convert
        def divide(examples):
            sizes = tf.add_n([structure.sizes(examples) for structure in structures])
            splits = _splits(sizes, self.count)

            def part(number):
                chosen = slice(splits[number], splits[number + 1])
                of_part = tf.nest.map_structure(lambda feature: feature[chosen], examples)
                return of_part, self._weights(structures, examples, of_part)

            return tf.data.Dataset.range(self.begin, self.end).map(part)

        count, parts = int(batches.cardinality()), batches.flat_map(divide)
        if count > 0:
            count *= self.end - self.begin
        if count != tf.data.UNKNOWN_CARDINALITY:
            parts = parts.apply(tf.data.experimental.assert_cardinality(count))
        return parts

    def _weights(self, structures, examples, part) -> dict:
        """Weights with which the mean of the means of all replicas is the mean over all rows."""

        def weight(of_all, of_part):
            share = self.count * of_part / tf.maximum(of_all, 1)
            return tf.fill([of_part], tf.cast(share, tf.float32))

        number, of_part = (tf.size(structures[0].sizes(e)) for e in (examples, part))
        weights = {
            GLOBAL_GRAPHS: tf.zeros([number], tf.int32),
            GRAPH_WEIGHT: weight(number, of_part),
        }
        for structure in structures:
            vertices = (tf.reduce_sum(structure.sizes(e)) for e in (examples, part))
            of_vertices = {VERTEX_WEIGHT: weight(*vertices)}
            weights |= of_vertices if structure.name is None else {structure.name: of_vertices}
        return weights


def replicas_of(replicas) -> Replicas | None:
    """Checks `replicas` of `batch`. Returns None if minibatches are not divided."""
    if replicas is None:
        return None
    if isinstance(replicas, tf.distribute.InputContext):
        count, workers = replicas.num_replicas_in_sync, replicas.num_input_pipelines
        each, worker = count // workers, replicas.input_pipeline_id
        if each * workers != count:
            raise ValueError(
                f"replicas: got {count} replicas on {workers} workers but expected as many on "
                "each. Give all workers the same number of devices."
            )
        return Replicas(count, worker * each, (worker + 1) * each)
    check_at_least(1, replicas=replicas)
    return Replicas(replicas, 0, replicas)


def merged(features: dict, weights: dict) -> dict:
    """The features of a minibatch with the weights of its graphs and vertices."""
    return features | {
        name: features[name] | weight if isinstance(weight, dict) else weight
        for name, weight in weights.items()
    }


def _splits(sizes, count: int) -> tf.Tensor:
    """int32 [count + 1]: consecutive graphs for each part, of about the same number of vertices.

    A graph belongs to the part in which its middle vertex lies.
    """
    sizes = tf.cast(sizes, tf.int64)
    twice_middle = 2 * tf.cumsum(sizes) - sizes
    borders = 2 * tf.reduce_sum(sizes) * tf.range(1, count, dtype=tf.int64)
    inner = tf.searchsorted(twice_middle * count, borders)
    return tf.concat([[0], inner, tf.shape(sizes)], 0)
