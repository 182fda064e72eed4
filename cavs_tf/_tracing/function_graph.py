"""The graph of a function that an op of ours runs."""

from tensorflow.python.framework import func_graph


class FunctionGraph(func_graph.FuncGraph):
    """A graph whose operators are not found by their names.

    When a graph becomes a function, TensorFlow renames operators that have the name of a result.
    When it saves the function, it looks up the shapes of operators in the graph by their new names,
    which other operators may have, so that the saved model could not be loaded. It saves no shapes
    for operators that are not found.
    """

    def get_operation_by_name(self, name):
        raise KeyError(f"{name}: operators of {self.name} have other names in its function.")
