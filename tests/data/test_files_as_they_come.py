"""Files as people have them: marks of Windows, missing empty lines, cycles, several roots."""

import codecs
import functools
import json
import warnings

import keras
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import data
from tests.data.test_readers import plain


def row(number, word, head):
    return f"{number}\t{word}\t_\tX\t_\t_\t{head}\tdep\t_\t_\n"


def conllu(*heads):
    return "".join(row(i, chr(96 + i), head) for i, head in enumerate(heads, start=1))


SNLI = {"gold_label": "neutral", "sentence1_binary_parse": "a", "sentence2_binary_parse": "( b c )"}
GRAPH = {"num_vertices": 2, "edges": [[0, 1]]}


def of_parents(path, **options):
    tokens = path.with_name("tokens")
    tokens.write_bytes(path.read_bytes())
    return data.parent_trees(path, tokens, **options)


def of_folder(path, **options):
    for name in ("a.toks", "b.parents", "b.toks", "sim.txt"):
        (path.parent / name).write_bytes(path.read_bytes())
    (path.parent / "a.parents").write_bytes(path.read_bytes())
    return data.parent_pairs(path.parent, **options)


# For each reader: text of two examples, and of one that is wrong, each with its end of line.
READERS = {
    "bracket_trees": (data.bracket_trees, "(S (A a))\n(S (B b))\n", "(S)\n"),
    "classes": (
        functools.partial(data.bracket_trees, num_classes=2),
        "(1 (0 a))\n(0 b)\n",
        "(7 b)\n",
    ),
    "conllu_trees": (data.conllu_trees, conllu(0, 1) + "\n" + conllu(0) + "\n", conllu(9) + "\n"),
    "json_graphs": (data.json_graphs, (json.dumps(GRAPH) + "\n") * 2, "{}\n"),
    "parent_trees": (of_parents, "0\n0\n", "x\n"),
    "parent_pairs": (of_folder, "0\n0\n", "x\n"),
    "sentence_pairs": (
        functools.partial(data.sentence_pairs, columns=(0, 1, 2)),
        "a b\tc\t1\nd\te\t2\n",
        "a\tb\thigh\n",
    ),
    "snli_pairs": (data.snli_pairs, (json.dumps(SNLI) + "\n") * 2, "{}\n"),
    "word_lattices": (data.word_lattices, "((('a',1.,1),),)\n()\n", "(1,)\n"),
}


@pytest.fixture(params=READERS)
def reader(request, tmp_path):
    reader, text, wrong = READERS[request.param]

    def read(content):
        path = tmp_path / "file"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return reader(path)

    return read, text, wrong


def examples(dataset):
    return [plain(example) for example in dataset]


@pytest.mark.in_turns
def test_byte_order_marks_and_ends_of_lines_of_other_systems_are_no_part_of_the_text(reader):
    read, text, _ = reader
    want = examples(read(text))
    for mark, end in ((codecs.BOM_UTF8, "\n"), (codecs.BOM_UTF8, "\r\n"), (b"", "\r")):
        assert examples(read(mark + text.replace("\n", end).encode())) == want, (mark, end)
    assert examples(read(text.replace("\n", "\r\r\n"))) == want


@pytest.mark.parametrize("name", ["json_graphs", "snli_pairs", "sentence_pairs"])
def test_empty_lines_between_examples_are_skipped(tmp_path, name):
    read, text, _ = READERS[name]
    path = tmp_path / "file"
    path.write_text(text)
    want = examples(read(path))
    path.write_text("\n" + text.replace("\n", "\n  \n"))
    assert examples(read(path)) == want


def test_the_number_of_examples_is_known(reader):
    read, text, _ = reader
    assert len(read(text)) == 2
    assert len(data.batch(read(text), 1, arity=3)) == 2


@pytest.mark.in_turns
def test_what_cannot_be_read_may_be_left_out(reader):
    read, text, wrong = reader
    want = examples(read(text))
    for content in (text + wrong, wrong + wrong + text):
        dataset = read(content)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"file:|a\.parents:"):
            list(dataset)
        assert examples(dataset.ignore_errors()) == want


@pytest.mark.in_turns
def test_bytes_that_are_no_text_may_be_left_out(reader):
    read, text, wrong = reader
    line = wrong.encode().rstrip(b"\n")[:-1] + b"\xff" + wrong.encode().rstrip(b"\n")[-1:]
    want = examples(read(text))
    dataset = read(line + wrong.encode()[len(wrong.rstrip("\n")) :] + text.encode())
    with pytest.raises(tf.errors.InvalidArgumentError, match=r":1: got the byte 0xff but expect"):
        list(dataset)
    assert examples(dataset.ignore_errors()) == want


def test_a_file_that_has_changed_is_an_error_and_ends(tmp_path):
    path = tmp_path / "file"
    path.write_text("(A a) (B b)")
    trees = data.bracket_trees(path)
    for text in ("(A a)", "(A a) (B b) (C c)"):
        path.write_text(text)
        with pytest.raises(tf.errors.InvalidArgumentError, match="files: got another number of ex"):
            list(trees)
        assert [tree["word"] for tree in examples(trees.ignore_errors())] == [["a"]]


def test_messages_are_the_sentence_alone(reader):
    read, _, wrong = reader
    with pytest.raises(tf.errors.InvalidArgumentError) as error:
        list(read(wrong))
    for text in ("Traceback", "ValueError", "user-defined", "assertion failed", "\\'"):
        assert text not in str(error.value)
    assert str(error.value).count(":1: got ") == 1


def read(tmp_path, reader, text, **options):
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    return examples(reader(path, **options))


@pytest.mark.parametrize(
    "reader, text, message",
    [
        (
            data.conllu_trees,
            conllu(0) + "\n" + conllu(2, 3, 2),
            "file:3: got the cycle 2 <- 3 <- 2",
        ),
        (data.conllu_trees, conllu(0, 3, 4, 2), "file:1: got the cycle 2 <- 4 <- 3 <- 2 of a v"),
        (of_parents, "0\n2 3 1 0\n", "file:2: got the cycle 1 <- 3 <- 2 <- 1"),
        (of_folder, "2 1\n", "a.parents:1: got the cycle 1 <- 2 <- 1"),
        (
            data.json_graphs,
            json.dumps({"num_vertices": 3, "edges": [[0, 1], [1, 2], [2, 1]]}),
            "file:1: got the cycle 1 <- 2 <- 1 of a vertex, its child, and so on, but expected no",
        ),
        (
            data.json_graphs,
            '{"num_vertices": 1, "edges": [[0, 0]]}',
            "file:1: edges.0..0.: got 0 as child and a",
        ),
        (
            functools.partial(
                data.sentence_pairs,
                columns=(0, 1, 2),
                parse=lambda _: {"children": [[1], [0]], "word": ["a", "b"]},
            ),
            "a b\ta b\t1\n",
            "file:1: got the cycle 0 <- 1 <- 0",
        ),
    ],
)
def test_cycles_are_rejected_by_file_and_line(tmp_path, reader, text, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        read(tmp_path, reader, text)


@pytest.mark.in_turns
def test_long_cycles_are_shortened(tmp_path):
    count = 5000  # More than Python's stack has frames.
    edges = [[i, (i + 1) % count] for i in range(count)]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"cycle 0 <- 4999 <- .* <- \.\.\. <- 0"
    ):
        read(tmp_path, data.json_graphs, json.dumps({"num_vertices": count, "edges": edges}))
    chain = json.dumps({"num_vertices": count, "edges": edges[:-1]})
    assert len(read(tmp_path, data.json_graphs, chain)) == 1


@pytest.mark.parametrize("heads", [(-1,), (0, -2), (-1, 0), (3, 0)])
def test_heads_are_words_of_the_sentence(tmp_path, heads):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"file:1: got the head -?\d of word"):
        read(tmp_path, data.conllu_trees, conllu(*heads))


def test_sentences_without_an_empty_line_between_them_are_rejected(tmp_path):
    message = "file:1: got the word 1 where word 3 comes but expected words numbered from 1 on"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        read(tmp_path, data.conllu_trees, conllu(0, 1) + "# sent_id = 2\n" + conllu(0))


def test_columns_that_no_word_has_are_rejected(tmp_path):
    path = tmp_path / "file"
    path.write_text("# text = a  b\n" + row(1, "a  b", 0))  # It would shift all columns.
    with pytest.raises(tf.errors.InvalidArgumentError, match=":2: got 11 columns but expected ten"):
        list(data.conllu_trees(path))


def test_words_are_numbered_without_gaps(tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError, match="got the word 3 where word 2 comes"):
        read(tmp_path, data.conllu_trees, row(1, "a", 0) + row(3, "b", 1))


def test_comments_alone_are_no_sentence(tmp_path):
    text = f"# newdoc\n\n# newpar\n# sent_id = 1\n{conllu(0)}\n\n# the end\n"
    [sentence] = read(tmp_path, data.conllu_trees, text)
    assert sentence["word"] == ["a"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="file:2: got a sentence without word"):
        read(tmp_path, data.conllu_trees, "\n1-2\tab\t_\t_\t_\t_\t_\t_\t_\t_\n")


@pytest.mark.parametrize("reader", [data.conllu_trees, of_parents])
def test_several_roots(tmp_path, reader):
    text = conllu(2, 0, 0, 2, 0) if reader is data.conllu_trees else "2 0 0 2 0\n"
    [of_all] = read(tmp_path, reader, text)
    [first] = read(tmp_path, reader, text, roots="first")
    [artificial] = read(tmp_path, reader, text, roots="artificial")
    assert of_all["children"] == [[], [0, 3], [], [], []]
    assert first["children"] == [[], [0, 2, 3, 4], [], [], []]
    assert artificial["children"] == [[], [0, 3], [], [], [], [1, 2, 4]]
    assert artificial["word"] == [*of_all["word"], ""]
    with pytest.raises(ValueError, match=r"^roots: got 'last' but expected one of 'all', 'first'"):
        read(tmp_path, reader, text, roots="last")


def test_an_artificial_root_is_that_of_every_sentence(tmp_path):
    [one] = read(tmp_path, data.conllu_trees, conllu(0, 1), roots="artificial")
    assert one["children"] == [[1], [], [0]]
    assert one["category"] == ["X", "X", ""] and one["relation"] == ["dep", "dep", ""]
    [pair] = read(tmp_path, of_folder, "0\n", roots="artificial")
    assert pair["left"]["children"] == [[], [0]]


def test_rows_of_several_roots_are_added(tmp_path):
    path = tmp_path / "file"
    path.write_text(conllu(0, 0))
    batch = next(iter(data.batch(data.conllu_trees(path), 1, arity=1)))
    rows = cavs.keras.Roots()(batch["graphs"], tf.constant([[1.0], [10.0]]))
    assert rows.numpy().tolist() == [[11.0]]


def test_words_that_a_parser_left_out(tmp_path):
    (tmp_path / "parents").write_text("3 -1 0 -1 3\n0\n")
    (tmp_path / "tokens").write_text("a , b . c\nd\n")
    files = tmp_path / "parents", tmp_path / "tokens"
    first, second = examples(data.parent_trees(*files, skip_unparsed=True))
    assert first == {"children": [[], [0, 2], []], "word": ["a", "b", "c"]}
    assert second == {"children": [[]], "word": ["d"]}
    message = r"parents:1: got the parent '-1' of vertex 2 .* leave it out with skip_unparsed=True"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(data.parent_trees(*files))
    for name, text in {"a.parents": "2 0 -1", "b.parents": "-1 0", "sim.txt": "1"}.items():
        (tmp_path / name).write_text(text)
    for name, text in {"a.toks": "a b c", "b.toks": "d e"}.items():
        (tmp_path / name).write_text(text)
    [pair] = examples(data.parent_pairs(tmp_path, skip_unparsed=True))
    assert [pair[side]["word"] for side in ("left", "right")] == [["a", "b"], ["e"]]


def test_a_child_of_a_word_that_was_left_out_is_rejected(tmp_path):
    message = "file:1: got the parent 2 of vertex 1 but expected one that is not left out"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        read(tmp_path, of_parents, "2 -1 0\n", skip_unparsed=True)
    with pytest.raises(tf.errors.InvalidArgumentError, match="got the parent '-2' of vertex 1"):
        read(tmp_path, of_parents, "-2 0\n", skip_unparsed=True)


def test_programs_after_one_that_is_none(tmp_path):
    paths = [tmp_path / f"{name}.py" for name in "abc"]
    for path, text in zip(
        paths, ["x = 1", "x = = 1", "def f():\n  pass\ndef g(): pass"], strict=True
    ):
        path.write_bytes(codecs.BOM_UTF8 + text.encode())
    for functions, count in ((False, 2), (True, 2)):
        trees = data.python_trees(paths, functions=functions)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"b\.py:1: got what is no Python"):
            list(trees)
        assert len(examples(trees.ignore_errors())) == count
    assert len(data.python_trees(paths)) == 3
    assert len(data.python_trees(paths, functions=True)) == 3


@pytest.mark.parametrize("parse", [None, 3, ["a"], {}])
def test_a_parse_that_is_none_is_rejected_by_file_and_line(tmp_path, parse):
    text = json.dumps(SNLI | {"sentence2_binary_parse": parse})
    message = r"file:1: got .* as 'sentence2_binary_parse' but expected a string with a tree in br"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        read(tmp_path, data.snli_pairs, text)


@pytest.mark.parametrize(
    "wrong", [None, True, 1.5, -1, "2", [], {}, 10**30, [[0, "1"]], [[0, None]]]
)
@pytest.mark.parametrize("field", ["num_vertices", "edges"])
def test_fields_of_another_kind_are_rejected_by_file_and_line(tmp_path, field, wrong):
    if (field, wrong) == ("edges", []):
        return
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"file:1: "):
        read(tmp_path, data.json_graphs, json.dumps(GRAPH | {field: wrong}))


@pytest.mark.in_turns
def test_lines_of_any_json_are_rejected_by_file_and_line(tmp_path):
    for text in ("null", "3", '"x"', "[]", "[1]", "{", "[" * 100_000, '{"gold_label": "-"}x'):
        for reader in (data.snli_pairs, data.json_graphs):
            with pytest.raises(tf.errors.InvalidArgumentError, match=r"file:1: "):
                read(tmp_path, reader, text)


EMOJI = r"(S (EMOJI :\)) (EMOJI \(:\() (PATH a\/b) (W c\d))"


def test_brackets_behind_a_backslash_are_parts_of_words(tmp_path):
    nltk = pytest.importorskip("nltk")
    [tree] = read(tmp_path, data.bracket_trees, EMOJI)
    assert tree["word"] == [":)", "(:(", "a/b", r"c\d", ""]
    [kept] = read(tmp_path, data.bracket_trees, EMOJI, unescape=False)
    assert kept["word"][:-1] == nltk.Tree.fromstring(EMOJI).leaves()
    assert data.bracket_tree(EMOJI)["word"] == tree["word"]
    [classes] = read(tmp_path, data.ptb_trees, r"(3 (2 :\)) (1 \(:))")
    assert classes["word"] == [":)", "(:", ""]


def test_an_error_of_parse_names_file_and_line(tmp_path):
    for parse, message in {
        lambda _: {}["x"]: "file:1: KeyError: 'x'",
        lambda _: None: "file:1: got None from parse but expected a dict with 'children' and",
        lambda _: {"children": [[]], "word": []}: "file:1: got 0 words for 1 vertices from parse",
        lambda _: {"children": [[1]], "word": ["a"]}: r"got the child 1 of vertex 0 from parse but",
    }.items():
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            read(tmp_path, data.sentence_pairs, "a\tb\t1\n", columns=(0, 1, 2), parse=parse)


NO_TREES = {
    "no strings": ({"children": [[], [0]], "word": ["a", None]}, "got the word None of vertex 1 f"),
    "no vertices": ({"children": [], "word": []}, "got a tree without vertices from parse but exp"),
    "no numbers": ({"children": [[], ["0"]], "word": "ab"}, "got the child '0' of vertex 1 from p"),
    "half a character": ({"children": [[]], "word": ["\ud83d"]}, r"got '\\ud83d' but expected tex"),
}


@pytest.mark.parametrize("name", NO_TREES)
def test_a_parse_that_is_no_tree_is_an_error_in_its_place(tmp_path, name):
    tree, message = NO_TREES[name]
    path = tmp_path / "file"
    path.write_text("a\tb\t1\nc\td\t2\n")

    def parse(sentence):
        return tree if sentence == "b" else {"children": [[]], "word": [sentence]}

    pairs = data.sentence_pairs(path, columns=(0, 1, 2), parse=parse)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"file:1: {message}"):
        list(pairs)
    assert [pair["score"] for pair in examples(pairs.take(3).ignore_errors())] == [2]


def test_half_a_character_of_json_is_an_error_in_its_place(tmp_path):
    path = tmp_path / "file"
    wrong = json.dumps(SNLI | {"sentence1_binary_parse": "\ud83d"})
    path.write_text(wrong + "\n" + json.dumps(SNLI) + "\n")
    pairs = data.snli_pairs(path)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"file:1: got '\\ud83d' but expected"):
        list(pairs)
    assert len(examples(pairs.take(3).ignore_errors())) == 1


@pytest.mark.parametrize(
    "columns", [(0, 1), (-1, 0, 1), ("a", "b", 2), (True, 0, 1), "abc", None], ids=str
)
def test_columns_are_three_names_or_numbers(tmp_path, columns):
    with pytest.raises(ValueError, match=r"^columns: got .* but expected three names, or three nu"):
        data.sentence_pairs(tmp_path / "file", columns=columns)


@pytest.mark.parametrize("separator", ["", 3])
def test_a_separator_is_a_string_that_is_not_empty(tmp_path, separator):
    with pytest.raises(ValueError, match=r"^separator: got .* but expected a string that is not e"):
        data.parent_trees(tmp_path / "file", tmp_path / "file", separator=separator)


def test_features_of_json_have_specs(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(
        ValueError, match=r"^features\['label'\]: got 'int32' but expected a tf.Ten"
    ):
        data.json_graphs(tmp_path / "file", {"label": "int32"})


@pytest.mark.parametrize("read", [data.bracket_trees, data.ptb_trees, data.read_vectors])
def test_a_vocabulary_is_a_vocabulary(tmp_path, read):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"^vocabulary: got a dict but expected a Vocabulary. Mak"):
        read(tmp_path / "file", {"the": 0})


@pytest.mark.in_turns
def test_fit_does_not_warn_that_data_ended(tmp_path):
    path = tmp_path / "file"
    path.write_text("(1 (0 a) (1 b))\n(0 b)\n(1 a)\n")
    vocabulary = data.Vocabulary.from_dataset(data.bracket_trees(path, num_classes=2))
    trees = data.bracket_trees(path, vocabulary, num_classes=2)
    graphs = cavs.keras.graph_inputs(arity=2)
    token = keras.Input((), dtype="int32", name="token")
    rows = keras.layers.Embedding(len(vocabulary), 2)(token)
    root = cavs.keras.TreeLSTM(2)(graphs, rows)
    model = keras.Model({**graphs, "token": token}, keras.layers.Dense(1)(root))
    model.compile("sgd", "mse")
    batches = data.batch(trees, 2, arity=2, as_dict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(cavs.keras.for_fit(batches, model, "label"), epochs=2, shuffle=False, verbose=0)
