"""GraphBatch from and to networkx, and from nested sequences."""

import re

import networkx
import nltk
import pytest
import tensorflow as tf
from hypothesis import given

from cavs_tf import data
from cavs_tf.graphs import GraphBatch
from tests.graphs.test_graph_batch import CHILDREN, arrays, children, fixed, minibatches

TREES = [("the", ("cat", "sat")), "leaf", (("a",), ())]


def digraph(*edges):
    graph = networkx.DiGraph()
    graph.add_edges_from(edges)
    return graph


def test_to_networkx_by_hand():
    graphs = GraphBatch.from_children(CHILDREN, [[1, 1, 0], [], [1, 1, 0, 2]])
    first, empty, last = graphs.to_networkx()
    assert sorted(first.edges(data="slot")) == [(0, 2, 0), (1, 2, 1)]
    assert first.nodes(data="vertex_type")[2] == 0
    assert list(empty.nodes) == []
    assert sorted(last.edges(data="slot")) == [(0, 2, 0), (0, 2, 1), (2, 3, 1)]
    assert networkx.dag_longest_path_length(last) == 2
    assert "vertex_type" not in GraphBatch.chain([1]).to_networkx()[0].nodes[0]


@fixed
@given(minibatches)
def test_networkx_and_back(lists):
    # Missing children behind the last child do not show in edges.
    lists = [[without_missing_end(slots) for slots in graph] for graph in lists]
    there = GraphBatch.from_children(lists).to_networkx()
    assert children(GraphBatch.from_networkx(there, children="predecessors")) == lists
    turned = [graph.reverse() for graph in there]
    assert children(GraphBatch.from_networkx(turned, children="successors")) == lists


def without_missing_end(slots):
    while slots and slots[-1] == -1:
        slots = slots[:-1]
    return slots


def test_types_may_be_an_attribute_or_lists():
    there = GraphBatch.from_children(CHILDREN, [[1, 1, 0], [], [1, 1, 0, 2]])
    for types in ("vertex_type", [[1, 1, 0], [], [1, 1, 0, 2]]):
        again = GraphBatch.from_networkx(there.to_networkx(), "predecessors", types)
        assert arrays(again)["vertex_type"] == [1, 1, 0, 1, 1, 0, 2]


def test_nodes_of_networkx_are_numbered_in_their_order_and_children_in_that_of_edges():
    graph = digraph(("root", "b"), ("root", "a"), ("a", "x"))
    assert list(graph) == ["root", "b", "a", "x"]
    made = GraphBatch.from_networkx([graph], children="successors")
    assert children(made) == [[[1, 2], [], [3], []]]
    balanced = networkx.balanced_tree(2, 3, create_using=networkx.DiGraph)
    assert GraphBatch.from_networkx([balanced], children="successors").roots.numpy().tolist() == [0]


def test_from_nested_by_hand():
    graphs = GraphBatch.from_nested(TREES)
    assert children(graphs) == [[[], [], [], [1, 2], [0, 3]], [[]], [[], [0], [], [1, 2]]]
    assert data.nested_values(TREES) == ["the", "cat", "sat", "", "", "leaf", "a", "", "", ""]
    assert data.nested_values([(1, 2)], inner=-1) == [1, 2, -1]
    typed = GraphBatch.from_nested([("a", "b")], [[0, 0, 1]])
    assert arrays(typed)["vertex_type"] == [0, 0, 1]
    assert children(GraphBatch.from_nested([])) == []


def test_nltk_trees_are_nested():
    text = "(S (NP (D the) (N cat)) (VP (V sat)))"
    trees = [nltk.Tree.fromstring(text)]
    graphs = GraphBatch.from_nested(trees)
    assert graphs.num_vertices == len(trees[0].treepositions()) == 9
    assert graphs.depth == trees[0].height() - 1
    values = data.nested_values(trees)
    assert values == ["the", "D", "cat", "N", "NP", "sat", "V", "VP", "S"]
    assert [v for v in values if v.islower()] == trees[0].leaves()


def test_trees_may_be_deep():
    tree = "leaf"
    for _ in range(20_000):
        tree = (tree,)
    assert GraphBatch.from_nested([tree]).depth == 20_000


TWICE = networkx.DiGraph()
TWICE.add_edge(0, 2, slot=1)
TWICE.add_edge(1, 2, slot=1)
PARTLY = networkx.DiGraph()
PARTLY.add_edge(0, 2, slot=1)
PARTLY.add_edge(1, 2)

REJECTED = [
    (
        lambda: GraphBatch.from_networkx([digraph((0, 1))], children="parents"),
        "children: got 'parents' but expected 'predecessors', whose edges lead from child to",
    ),
    (
        lambda: GraphBatch.from_networkx(digraph((0, 1)), children="successors"),
        "graphs: got a DiGraph but expected a list of them. Pass [graph].",
    ),
    (
        lambda: GraphBatch.from_networkx([digraph(), networkx.Graph()], children="successors"),
        "graphs[1]: got a Graph but expected a networkx.DiGraph or MultiDiGraph. Make a directed",
    ),
    (
        lambda: GraphBatch.from_networkx([[(0, 1)]], children="successors"),
        "graphs[0]: got a list but expected a networkx.DiGraph or MultiDiGraph.",
    ),
    (
        lambda: GraphBatch.from_networkx([TWICE], children="predecessors"),
        "graphs[0].nodes[2]: got the slots [1, 1] of its children but expected different integers",
    ),
    (
        lambda: GraphBatch.from_networkx([PARTLY], children="predecessors"),
        "graphs[0].nodes[2]: got the slots [1, None] of its children but expected different",
    ),
    (
        lambda: GraphBatch.from_networkx([digraph(("a", "b"))], "successors", "kind"),
        "graphs[0].nodes['a']: got no attribute 'kind' but expected one at every node. Set it",
    ),
    (
        lambda: GraphBatch.from_nested("leaf"),
        "trees: got 'leaf' but expected a list with one nested sequence per graph. Pass [tree]",
    ),
    (
        lambda: GraphBatch.from_nested(nltk.Tree("S", ["a"])),
        "trees: got Tree('S', ['a']) but expected a list with one nested sequence per graph.",
    ),
]


@pytest.mark.parametrize("make, message", REJECTED)
def test_rejects(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_to_networkx_needs_known_graphs():
    with pytest.raises(ValueError, match=r"to_networkx: got graphs inside a tf\.function but"):
        tf.function(lambda g: g.to_networkx())(GraphBatch.chain([2]))
