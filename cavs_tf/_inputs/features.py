"""Features by name. The features of the structures of an example are dicts in a dict."""

from cavs_tf._inputs.inputs import VertexRows
from cavs_tf.graphs._graph_batch import CHILD_ROW, EDGE_SPLITS, PACKED


def feature_at(features: dict, path: str, name: str):
    """The feature "token", or "token" of the structure "left" by the path "left/token".

    Args:
      features: A dict of features, and of dicts of them.
      path: The path of the feature.
      name: What to call `features` in the message.

    Raises:
      ValueError: If there is no such feature.
    """
    structure, _, rest = path.partition("/")
    if path not in features and rest and isinstance(features.get(structure), dict):
        return feature_at(features[structure], rest, f"{name}[{structure!r}]")
    if path not in features:
        advice = "Name a feature that there is, or add it to the examples."
        if path in (CHILD_ROW, EDGE_SPLITS, PACKED):
            edges = ", edges=True" if path == EDGE_SPLITS else ""
            advice = (
                "It is part of a schedule, which these graphs have not: take those of "
                f"graphs.with_schedule(arity{edges}), or of data.batch."
            )
        raise ValueError(
            f"{name}: got features {', '.join(map(str, features))} but expected {path!r} among "
            f"them. {advice}"
        )
    return features[path]


def select(features: dict, names, name: str) -> dict:
    """The features with these names; of a structure all, or the features that a dict names.

    Args:
      features: A dict of features, and of dicts of them.
      names: A list of names, or a dict whose keys are names; where a value is a dict, too, its
        keys are the names of features of that structure.
      name: What to call `features` in messages.

    Raises:
      ValueError: If a name is missing.
    """
    chosen = {}
    for key in names:
        chosen[key] = feature_at(features, key, name)
        of_structure = names[key] if isinstance(names, dict) else None
        if isinstance(of_structure, list) and isinstance(chosen[key], VertexRows):
            chosen[key] = tuple(chosen[key])  # The inputs of a model that was loaded have lists.
        if isinstance(of_structure, dict):
            if not isinstance(chosen[key], dict):
                raise ValueError(
                    f"{name}[{key!r}]: got one feature but expected a structure with "
                    f"{', '.join(map(repr, of_structure))}. Put them into a dict of this name."
                )
            chosen[key] = select(chosen[key], of_structure, f"{name}[{key!r}]")
    return chosen
