"""Settings of TensorFlow that can only be made in a new process."""

import textwrap

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import cells, processes


@pytest.fixture
def run(tmp_path):
    """Runs a program that starts with the imports below, and returns what it prints."""

    def run(program):
        prelude = """
            import numpy as np
            import tensorflow as tf
            import cavs_tf as cavs
            from tests.helpers import cells
            GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]], [[], [0], [1, 0]]])
            tf.keras.utils.set_random_seed(0)
            rows = np.random.default_rng(0).standard_normal((7, cells.FEATURES))
            X = tf.constant(rows, tf.float32)
        """
        settings, _, rest = textwrap.dedent(program).partition("# ---\n")
        text = f"import tensorflow as tf\n{settings}{textwrap.dedent(prelude)}{rest}"
        done, printed, error = processes.run_program(text, tmp_path, tmp_path)
        assert done, error
        return printed

    return run


@pytest.mark.in_turns
def test_one_thread_of_each_kind_does_not_hang(run):
    output = run(
        """
        tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.config.threading.set_intra_op_parallelism_threads(1)
        # ---
        cell = cells.Branching()
        step = tf.function(lambda x: tf.gradients(tf.reduce_sum(cell(GRAPHS, x)), x)[0])
        print(step(X).shape, cavs.check_equivalence(cell, GRAPHS, X).ok)
        """
    )
    assert output.split("\n")[0] == "(7, 3) True"


@pytest.mark.in_turns
def test_one_thread_for_operators_trains_from_a_pipeline(run):
    output = run(
        """
        tf.config.threading.set_inter_op_parallelism_threads(1)
        # ---
        import keras
        graphs = cavs.keras.graph_inputs(5)
        token = keras.Input((), dtype="int32", name="token")
        words = cavs.keras.Embedding(20, 3)(token)
        outputs = cavs.keras.TreeLSTM(4, 5, return_vertices=True)(graphs, words)
        model = keras.Model({**graphs, "token": token}, {"value": keras.layers.Dense(10)(outputs)})
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(cavs.keras.LazyAdam(), {"value": loss}, steps_per_execution=4)
        examples = cavs.data.listops(64, seed=0).shuffle(64)
        batches = cavs.data.batch(examples, 4, arity=5, as_dict=True)
        batches = cavs.keras.for_fit(batches, model.input, {"value": "vertex_label"})
        print(len(model.fit(batches, epochs=2, shuffle=False, verbose=0).history["loss"]))
        """
    )
    assert output.split() == ["2"]


@pytest.mark.in_turns
def test_the_single_threaded_executor_trains_from_a_pipeline_with_one_thread(run):
    output = run(
        """
        tf.config.threading.set_inter_op_parallelism_threads(1)
        # ---
        cell = cells.Branching()
        cell(GRAPHS, X)  # Makes the weights.
        examples = cavs.data.from_arrays(
            [0, 4, 7],
            {"children": [[-1, -1], [0, -1], [0, 1], [2, 1], [-1, -1], [0, -1], [1, 0]]},
            {},
        )
        batches = iter(cavs.data.batch(examples.repeat(), 2))

        def step(batches, total):
            graphs = next(batches)["graphs"]
            x = tf.ones([graphs.num_vertices, 3])
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_sum(cell(graphs, x))
            return total + loss + tf.reduce_sum(tape.gradient(loss, x))

        def steps(batches):
            several = lambda i, total: (i + 1, step(batches, total))
            return tf.while_loop(lambda i, _: i < 4, several, (0, 0.0))[1]

        plain = tf.function(steps)(batches)
        with tf.experimental.function_executor_type("SINGLE_THREADED_EXECUTOR"):
            steps = tf.function(steps)
            print(*(float(steps(batches)) == float(plain) for _ in range(3)))
        """
    )
    assert output.split() == ["True"] * 3


@pytest.mark.in_turns
def test_mirrored_replicas_read_and_train_their_own_copies(run):
    output = run(
        """
        cpu = tf.config.list_physical_devices("CPU")[0]
        half = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [half, half])
        # ---
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        with strategy.scope():
            cell = cells.TreeLSTM()
            cell(GRAPHS, X)

        @tf.function
        def step():
            def replica():
                with tf.GradientTape() as tape:
                    loss = tf.reduce_sum(tf.square(cell(GRAPHS, X)))
                gradients = tape.gradient(loss, cell.trainable_variables)
                return [tf.reduce_sum(g) for g in gradients]
            return strategy.run(replica)

        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(cell(GRAPHS, X)))
        expected = [tf.reduce_sum(g) for g in tape.gradient(loss, cell.trainable_variables)]
        for results, value in zip(step(), expected):
            for result in strategy.experimental_local_results(results):
                np.testing.assert_allclose(result, value, rtol=1e-5)
        print(len(expected))
        """
    )
    assert output.strip() == "6"


@pytest.mark.in_turns
def test_a_saved_model_runs_and_trains_where_the_class_is_unknown(run, tmp_path):
    cell = cells.TreeLSTM()
    x = tf.ones([3, cells.FEATURES])
    module = tf.Module()
    module.cell = cell
    spec = tf.TensorSpec([None, cells.FEATURES], tf.float32)
    signature = [cavs.GraphBatch.Spec(), spec]
    module.run = tf.function(lambda graphs, x: cell(graphs, x), input_signature=signature)
    expected = module.run(cavs.GraphBatch.chain([3]), x)
    tf.saved_model.save(module, str(tmp_path / "saved"))
    output = run(
        f"""
        # ---
        module = tf.saved_model.load({str(tmp_path / "saved")!r})
        x = tf.ones([3, cells.FEATURES])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = module.run(cavs.GraphBatch.chain([3]), x)
        print(float(tf.reduce_sum(y)), tape.gradient(y, x).shape)
        """
    )
    total, shape = output.strip().split(" ", 1)
    np.testing.assert_allclose(float(total), tf.reduce_sum(expected), rtol=1e-5)
    assert shape == "(3, 3)"
