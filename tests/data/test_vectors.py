"""Word vectors of GloVe, word2vec and fastText; vocabularies in files."""

import tracemalloc

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.data import Vocabulary, read_vectors

GLOVE = "the 0.5 -1e-3\ncafé 1 2\n. . . 3 4\n\u00a0x 5 6\n"
WORD2VEC = "4 2\nthe 0.5 -1e-3\ncafé 1 2\n. . . 3 4\n\u00a0x 5 6\n"
FASTTEXT = WORD2VEC.replace("\n", " \n").replace("4 2 \n", "4 2\n")
WORDS = Vocabulary(["the", "café", "cat", ". . .", "\u00a0x"])


def written(tmp_path, text):
    path = tmp_path / "vectors.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        GLOVE,
        WORD2VEC,
        FASTTEXT,
        GLOVE.replace("\n", "\r\n"),
        GLOVE.rstrip("\n"),
        GLOVE.replace(" 0.5", "\t0.5"),
        GLOVE.replace("the 0.5", "\ufeffthe 0.5", 1),
        "\ufeff" + WORD2VEC,
        GLOVE + "the 7 7\n",  # The first one counts.
        GLOVE.encode() + b"\xff\xfe 1 2\n",
    ],
)
def test_vectors_of_each_format(tmp_path, text):
    vectors = read_vectors(written(tmp_path, text), WORDS)
    want = [[0, 0], [0, 0], [0.5, -1e-3], [1, 2], [0, 0], [3, 4], [5, 6]]
    np.testing.assert_allclose(vectors.rows, want)
    assert vectors.rows.dtype == np.float32
    assert vectors.is_found.tolist() == [False, False, True, True, False, True, True]
    assert vectors.share == 4 / 5


def test_vectors_are_the_weights_of_an_embedding(tmp_path):
    vectors = read_vectors(written(tmp_path, GLOVE), WORDS)
    embed = cavs.keras.Embedding(*vectors.rows.shape)
    embed.build(None)
    embed.set_weights([vectors.rows])
    np.testing.assert_array_equal(embed(np.array([3])), [[1, 2]])


@pytest.mark.parametrize(
    "text, message",
    [
        ("the 1 2\ncat 1\n", r":2: got 1 numbers but expected 2 behind a word"),
        ("2 3\nthe 1 2\n", r":2: got 2 numbers but expected 3 behind a word"),
        ("3 2\nthe 1 2\n", r":3: got the end of the file after 1 words but expected 3, as the fi"),
        ("the 1 x\n", r":1: got '1 x' behind 'the' but expected finite numbers"),
        ("the 1 nan\n", r":1: got '1 nan' behind 'the' but expected finite numbers"),
        ("dog 1 2\nthe inf 2\n", r":2: got 'inf 2' behind 'the' but expected finite"),
        ("", r":1: got no vectors but expected lines of a word and numbers"),
        ("0 5\n", r":1: got no vectors but expected lines"),
        ("the\n", r":1: got 0 numbers but expected one or more behind a word"),
        (b"\x80\x03}\n", r":1: got 0 numbers but expected one or more"),
    ],
)
def test_what_is_no_file_of_vectors(tmp_path, text, message):
    with pytest.raises(ValueError, match=r"vectors\.txt" + message):
        read_vectors(written(tmp_path, text), WORDS)


def test_only_vectors_of_the_vocabulary_are_held(tmp_path):
    line = " ".join(["0.25"] * 100)
    path = written(tmp_path, "".join(f"word{i} {line}\n" for i in range(20_000)))
    tracemalloc.start()
    vectors = read_vectors(path, Vocabulary(["word19999"]))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert vectors.share == 1 and most < 1e6  # The file has 10 MB.


def test_a_vocabulary_comes_back(tmp_path):
    words = ["the", "café", "a b", '"', "line\nend", "\u2028", "\ufeff", "-LRB-"]
    path = tmp_path / "words.json"
    Vocabulary(words).save(path)
    loaded = Vocabulary.load(path)
    assert loaded.words == Vocabulary(words).words
    assert loaded.ids(["café", "dog", ""]).tolist() == [3, 0, 1]

    path.write_bytes("\ufeff".encode() + path.read_bytes())
    assert Vocabulary.load(path).words == loaded.words
    Vocabulary([]).save(path)
    assert len(Vocabulary.load(path)) == 2


@pytest.mark.parametrize("text", ["", "the\ncat\n", '{"the": 1}', "[1]", b"\xff"])
def test_what_is_no_vocabulary(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=r"^path: got .* but expected a list of words, as JSON"):
        Vocabulary.load(path)


def test_a_vocabulary_of_words_twice_is_rejected(tmp_path):
    with pytest.raises(ValueError, match=r"^words: got 'the' twice"):
        Vocabulary.load(written(tmp_path, '["the", "the"]'))


def test_vectors_are_no_part_of_a_saved_configuration(tmp_path):
    vectors = read_vectors(written(tmp_path, GLOVE), WORDS)
    ids = keras.Input((), dtype="int32")
    embed = cavs.keras.Embedding(*vectors.rows.shape)
    model = keras.Model(ids, embed(ids))
    embed.set_weights([vectors.rows])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(np.array([2])), vectors.rows[[2]])


def test_words_of_tensors_are_numbered_as_strings():
    words = tf.constant(["café", "the", "dog"])
    vocabulary = Vocabulary.from_words(words.numpy()[:2])
    assert vocabulary.words == Vocabulary(["café", "the"]).words
    assert vocabulary.ids(words.numpy()).tolist() == [2, 3, 0]


@pytest.mark.parametrize("make", [Vocabulary, Vocabulary.from_words, WORDS.ids])
@pytest.mark.parametrize("words", ["the cat", b"the", [1], tf.constant(["the"])], ids=repr)
def test_words_are_strings(make, words):
    with pytest.raises(ValueError, match=r"^words: got .* but expected (strings, or|several wor)"):
        make(words)
