"""This project with several steps in a call of TensorFlow, as Keras's `steps_per_execution`."""

import tensorflow as tf

from benchmarks.peers import cavs


class Peer(cavs.Peer):
    """As `cavs`, but a call loops over steps, and only the loss of its last is known."""

    steps_per_call = 8

    def prepare(self):
        super().prepare()
        self._train_some = tf.function(lambda steps: self._loop(self._train_step, steps))
        self._loss_of_some = tf.function(lambda steps: self._loop(self.loss, steps))

    def trace_step(self, mode):
        super().trace_step(mode)
        some = self._train_some if mode == "training" else self._loss_of_some
        some.get_concrete_function(self._steps_from(0))

    def timed_train(self, index):
        return float(self._train_some(self._steps_from(index)))

    def timed_infer(self, index):
        return float(self._loss_of_some(self._steps_from(index)))

    def _loop(self, step, steps):
        def one_more(done, _):
            return done + 1, step(next(steps))

        _, loss = tf.while_loop(
            lambda done, _: done < self.steps_per_call,
            one_more,
            (0, 0.0),
            parallel_iterations=1,  # One step after the other, as in training anyway.
        )
        return loss
