"""Descriptions of the compiled programs of a vertex function, by names that its author knows."""

from cavs_tf._inputs.inputs import (
    CHILD_MASK,
    DEFAULT,
    GRAPH,
    IDS,
    INITIAL_STATE,
    NUM_CHILDREN,
    STATES,
    name_inputs,
)
from cavs_tf._tracing.lookups import is_looked_up
from cavs_tf.inspect._memory import functions_of
from cavs_tf.inspect._origins import Origins

_METHODS = {"spread": "to_children", "sum_edges": "sum_children", "max_edges": "max_children"}
_OWN_INPUTS = {
    GRAPH: "numbers of graphs",
    NUM_CHILDREN: "num_children",
    CHILD_MASK: "child_mask",
    INITIAL_STATE: "initial_state",
    IDS: "vertex_ids",
    STATES: "states",
}
# The bits of enum Trait in cc/schedule/traits.h: a name, and its meaning for a task.
TRAITS = (
    (1, "leaves", "no vertex has a child"),
    (4, "all children", "every vertex has all children"),
    (2, "no input", "no vertex has a row of the inputs that not all have"),
)


def describe(cell, graphs=None, inputs=None, pushes=None) -> list[dict]:
    """The descriptions by `CavsDescribe` of F and then dF of every vertex type, with titles.

    Every node, and every member of a group, also has its name as "shown", and "origins", a list of
    `Origin`s.
    If there is no dF, its description has an error, and None as its nodes.
    """
    functions = functions_of(cell, graphs, inputs, pushes)
    with functions.place_of_ops(cell.options):
        described = functions.description(name_inputs(inputs), cell.options)
    titles = [(d, t) for d in ("F", "dF") for t in functions.traced]
    programs = []
    for (direction, traced), program in zip(titles, described, strict=False):
        origins = Origins(traced)
        for node in program["nodes"]:
            _name(node, functions, origins)
        programs.append({"title": f"{direction} of {traced.name}"} | program)
    if not functions.backward:
        programs.append({"title": "dF", "nodes": None, "error": functions.gradient_error})
    return programs


def names_of(traits: int) -> str:
    """The names of a sum of traits, as in TensorFlow's profiles: " (leaves, no input)"."""
    names = [name for bit, name, _ in TRAITS if traits & bit]
    return f" ({', '.join(names)})" if names else ""


def _name(node, functions, origins):
    operators = node["members"] or [node]
    for operator in node["members"]:
        operator["shown"] = operator["op"]
    for operator in operators:
        operator["origins"] = [origins.of(operator["name"])]
    products = [origins.of(name) for name in node["merged"]]
    node["origins"] = [origin for operator in operators for origin in operator["origins"]]
    node["origins"] += products
    node["shown"] = _shown(node, functions)


def _shown(node, functions) -> str:
    kind, number = node["kind"], node["index"]
    if node["members"]:
        return node["label"]
    if node["merged"]:
        return f"{node['op']} x{len(node['merged']) + 1}"
    if kind in _METHODS:
        return _METHODS[kind]
    if kind in ("gather", "gather_grad") and number < 0:
        return kind.replace("gather", "children")
    if kind in ("push", "push_grad"):
        return _called(kind, functions.push_names[number], number in functions.edge_pushes)
    if kind in ("pull", "pull_grad"):
        pull = _numbers_of_pulls(functions, kind)[number]
        return _called(kind, functions.pull_names[pull], pull in functions.edge_pulls)
    return kind if kind in ("scatter", "scatter_grad", "vertex_ids") else node["label"]


def _numbers_of_pulls(functions, kind) -> list:
    """The pulls, or those that have gradients."""
    specs = enumerate(functions.pull_specs)
    return [i for i, spec in specs if kind == "pull" or spec.dtype.is_floating]


def _called(kind, name, of_edges) -> str:
    """How a pull or a push of this name is shown: "pull('x')", "push_edge_grad('scores')"."""
    own = "rows of a table" if is_looked_up(name) else _OWN_INPUTS.get(name)
    if own is not None:
        return own if kind in ("pull", "push") else f"gradient of {own}"
    if of_edges:
        kind = kind.replace("pull", "pull_edge").replace("push", "push_edge")
    return kind if name == DEFAULT else f"{kind}({name!r})"
