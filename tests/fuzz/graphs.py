"""Random graphs of every kind, as lists of child ids for every vertex of each graph."""


def _lone(rng, n, arity):
    return [[] for _ in range(n)]


def _chain(rng, n, arity):
    return [[v - 1] if v else [] for v in range(n)]


def _tree(rng, n, arity):
    children, free = [], []
    for v in range(n):
        most = min(arity, len(free))
        count = most if v == n - 1 else int(rng.integers(0, most + 1))
        children.append([free.pop() for _ in range(count)])
        free.append(v)
    return children


def _levels(rng, n, arity):
    """A tree whose levels are all full, except the lowest one at the right. The root is last."""
    return [
        [n - 1 - c for c in range(arity * v + 1, arity * v + 1 + arity) if c < n]
        for v in reversed(range(n))
    ]


def _dag(rng, n, arity):
    """A DAG with several parents, repeated children and missing children."""
    return [
        [int(c) for c in rng.integers(-1, v, int(rng.integers(0, arity + 1)))] if v else []
        for v in range(n)
    ]


def _missing(rng, n, arity):
    return [[v - 1 if v and rng.random() < 0.6 else -1 for _ in range(arity)] for v in range(n)]


def _star(rng, n, arity):
    """Many parents of one vertex."""
    return [[0] * min(arity, 1) if v else [] for v in range(n)]


KINDS = (_lone, _chain, _tree, _tree, _levels, _dag, _dag, _missing, _star)


def _shuffled(rng, children):
    names = rng.permutation(len(children))
    result = [None] * len(children)
    for v, own in enumerate(children):
        result[names[v]] = [int(names[c]) if c >= 0 else -1 for c in own]
    return result


def _size(rng, largest):
    if rng.random() < 0.15:
        return int(rng.choice([0, 1, 1, 2]))
    return int(rng.integers(1, largest + 1))


def random_graph(rng, arity, largest):
    """Child lists of one graph."""
    kind = KINDS[int(rng.integers(len(KINDS)))] if arity else _lone
    children = kind(rng, _size(rng, largest), arity)
    return _shuffled(rng, children) if rng.random() < 0.5 else children


def random_minibatch(rng, arity):
    """Child lists of some graphs: mostly few and small, sometimes one long, sometimes none."""
    choice = rng.random()
    if choice < 0.04:
        return []
    if choice < 0.1:
        return [random_graph(rng, arity, 40)]
    if choice < 0.14:
        return [random_graph(rng, arity, 3) for _ in range(int(rng.integers(8, 20)))]
    return [random_graph(rng, arity, 7) for _ in range(int(rng.integers(1, 4)))]


def random_types(rng, minibatch, num_types):
    """A type for each vertex; None if there is only one. Some minibatches lack a type."""
    count = sum(map(len, minibatch))
    if num_types == 1:
        return None
    if rng.random() < 0.4:
        return [min(1, len(own)) for children in minibatch for own in children]
    present = rng.permutation(num_types)[: int(rng.integers(1, num_types + 1))]
    return [int(t) for t in rng.choice(present, count)]


def absolute(minibatch):
    """The children of every vertex of the minibatch, as ids in the minibatch."""
    result, first = [], 0
    for children in minibatch:
        result += [[c + first if c >= 0 else -1 for c in own] for own in children]
        first += len(children)
    return result


def topological(children):
    """All vertices, children before parents. It is not recursive, since graphs can be deep."""
    order, done = [], set()
    for root in range(len(children)):
        stack = [root]
        while stack:
            v = stack[-1]
            waiting = [c for c in children[v] if c >= 0 and c not in done]
            if v in done or not waiting:
                stack.pop()
                if v not in done:
                    done.add(v)
                    order.append(v)
            else:
                stack.extend(waiting)
    return order
