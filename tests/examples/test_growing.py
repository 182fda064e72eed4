"""Examples whose graphs grow by what they compute: they learn, and grow what a whole call gives."""

import pytest

from tests.examples.test_examples import SENTENCES, summary_of

pytestmark = pytest.mark.in_turns

SMALL = ["--units=16", "--epochs=3", "--batch_size=8", "--test_examples=40", "--side_by_side=16"]


def test_the_parser_learns(tmp_path):
    arguments = ["--train_examples=300", "--max_args=2", "--beam=2"]
    summary, printed = summary_of("parser.py", tmp_path, *SMALL, *arguments)
    parsed = summary["parsed"]
    assert parsed["beam of 1"]["f1"] > 0.8 > parsed["left"]["f1"]
    assert parsed["beam of 2"]["f1"] > 0.8 > parsed["right"]["f1"]
    assert all(parsed[f"beam of {beam}"]["per_second"] > 0 for beam in (1, 2))
    assert f"bracket F1 {parsed['beam of 2']['f1']:.1%}" in printed
    assert len(summary["loss"]) == 3


def test_the_parser_reads_a_treebank(tmp_path):
    for name in ("train", "test"):
        (tmp_path / f"{name}.txt").write_text("\n".join([*SENTENCES.values()] * 40))
    summary, _ = summary_of("parser.py", tmp_path, *SMALL, f"--sst={tmp_path}")
    assert summary["parsed"]["beam of 8"]["f1"] == 1


def test_a_beam_finds_likelier_translations(tmp_path):
    arguments = ["--train_examples=2000", "--test_examples=60", "--units=32", "--epochs=6"]
    arguments += ["--words=3", "--most_words=2"]
    summary, printed = summary_of("beam_search.py", tmp_path, *arguments)
    greedy, beam = (summary["found"][f"beam of {k}"] for k in (1, 8))
    assert greedy["accuracy"] < 0.2 and beam["accuracy"] > 0.8
    assert beam["score"] > greedy["score"] + 0.5
    assert f"beam of 8: {beam['accuracy']:.1%}" in printed


def test_the_tree_decoder_grows_the_trees_again(tmp_path):
    arguments = ["--train_examples=300", "--test_examples=50", "--units=64", "--epochs=12"]
    arguments += ["--max_depth=1", "--max_args=2", "--batch_size=4"]
    summary, printed = summary_of("tree_decoder.py", tmp_path, *arguments)
    assert summary["accuracy"] > 0.8
    assert f"{summary['accuracy']:.1%} of 50 unseen" in printed
    assert " is written " in printed


def test_words_are_served_one_by_one(tmp_path):
    arguments = ["--examples=200", "--units=16", "--epochs=1", "--sentences=1,3", "--words=20"]
    summary, printed = summary_of("serve_words.py", tmp_path, *arguments, "--lengths=1,30")
    rows = summary["milliseconds"]
    assert [(row["sentences"], row["length"]) for row in rows] == [(1, 1), (1, 30), (3, 1), (3, 30)]
    assert all(row["kept"] > 0 and row["again"] > 0 for row in rows)
    assert "[MAX 2 9 [MIN 4 ... " in printed
