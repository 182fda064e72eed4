"""The graph of a function that an op of ours runs."""

from tensorflow.python.framework import func_graph


class FunctionGraph(func_graph.FuncGraph):
    """A graph whose operators are not found by their names.

    TensorFlow renames operators where a graph becomes a function, if a result is called as an
    operator is. When it saves the function it looks the shapes of its operators up here by the new
    names, which may be those of others: the saved model could not be loaded. It saves no shapes for
    operators that are not found.
    """

    def get_operation_by_name(self, name):
        raise KeyError(f"{name}: operators of {self.name} have other names in its function.")
