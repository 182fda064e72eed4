"""The grammar of trees in brackets."""

import re

# Blanks are ASCII only: some words of the treebank contain a no-break space. A bracket behind a
# backslash is part of a word, as NLTK writes it.
TOKEN = re.compile(r"[()]|(?:\\[()]|[^() \t\r\n])+")
_ESCAPES = dict(zip(["-LRB-", "-RRB-", "-LSB-", "-RSB-", "-LCB-", "-RCB-"], "()[]{}", strict=True))

_BACKSLASHES = re.compile(r"\\([/*()])")
_TRACE = "-NONE-"


def tree_of(tokens: list[str], labelled: bool, traces: bool, unescape: bool) -> dict:
    """The one tree that tokens spell.

    Args:
      tokens: Brackets, labels and words, as `TOKEN` finds them.
      labelled, traces, unescape: As for `bracket_trees`.

    Returns:
      A dict of lists with an element for each vertex, children before their parent: "children", a
      list of child ids; "word", empty for inner vertices; "category", empty without labels.

    Raises:
      ValueError: If they spell no tree, or several.
    """
    tree = {"children": [], "word": [], "category": []}

    def add(category, children, word):
        tree["children"].append(children)
        tree["word"].append(word)
        tree["category"].append(category)
        return len(tree["word"]) - 1

    open_brackets = [("", [])]  # The label and the parts of each: vertices, and words with labels.
    for i, token in enumerate(tokens):
        is_label = labelled and i > 0 and tokens[i - 1] == "("
        if token == "(":
            open_brackets.append(("", []))
        elif token == ")":
            label, parts = open_brackets.pop()
            if not open_brackets or tokens[i - 1] == "(" or (label and tokens[i - 2] == "("):
                raise ValueError(
                    f"got {' '.join(tokens[max(i - 2, 0) : i + 1])!r} but expected brackets that "
                    "match and are not empty. Write words as "
                    f"'{'(label word)' if labelled else 'word'}'."
                )
            vertex = _close(label, parts, traces, add)
            open_brackets[-1][1].extend([] if vertex is None else [vertex])
        elif is_label:
            open_brackets[-1] = (token, [])
        else:
            word = unescaped(token) if unescape else token
            open_brackets[-1][1].append(word if labelled else add("", [], word))
    [(_, roots), *others] = open_brackets
    if others or len(roots) != 1 or isinstance(roots[0], str):
        raise ValueError(
            f"got {' '.join(tokens)[:60]!r} but expected one tree of one word or more, in brackets "
            "that match. Correct it."
        )
    return tree


def _close(label: str, parts: list, traces: bool, add) -> int | None:
    """The vertex of a bracket; None if it holds nothing but traces."""
    words = [part for part in parts if isinstance(part, str)]
    if words and len(parts) > 1:
        raise ValueError(
            f"got {len(words)} words and {len(parts) - len(words)} trees in a bracket but expected "
            "one word, or trees. Write words as '(label word)'."
        )
    if not parts or (words and label == _TRACE and not traces):
        return None
    if words:
        return add(label, [], words[0])
    # A bracket around one part that says nothing of it is no vertex.
    return parts[0] if not label and len(parts) == 1 else add(label, parts, "")


def class_of(token: str, num_classes: int) -> int:
    """The class that a label spells; ValueError if it is not one of `num_classes`."""
    if not token.isdecimal() or int(token) >= num_classes:
        raise ValueError(
            f"got the label {token!r} but expected an integer in [0, {num_classes}). It follows "
            "every '('."
        )
    return int(token)


def unescaped(word: str) -> str:
    """The word that an escape such as -LRB- stands for."""
    return _BACKSLASHES.sub(r"\1", _ESCAPES.get(word.upper(), word))
