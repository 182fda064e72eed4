"""A library that does not fit is refused before it is loaded, with the command that fixes it."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

from cavs_tf._native import library as _library
from tests.helpers import processes


@pytest.fixture
def build(tmp_path):
    """Writes a library and the file that says it was built for TensorFlow 2.21.0."""
    library, info = tmp_path / "_cavs_ops.so", tmp_path / "_build_info.json"
    library.write_bytes(b"not really a library")
    info.write_text(json.dumps({"tensorflow_version": "2.21.0"}))
    return library, info


def refusal(library, info, tensorflow_version):
    with pytest.raises(ImportError) as caught:
        _library.check_build(library, info, tensorflow_version)
    return str(caught.value)


@pytest.mark.parametrize("version", ["2.21.0", "2.21.1", "2.21.10", "2.21.0-rc1"])
def test_library_for_this_tensorflow_is_accepted(build, version):
    _library.check_build(*build, version)


@pytest.mark.parametrize("version", ["2.20.0", "2.22.0", "2.2.1", "3.21.0", "2.211.0"])
def test_library_for_another_minor_version_is_refused(build, version):
    assert f"found TensorFlow {version} but" in refusal(*build, version)


def run(program, *arguments, folder=None):
    """Runs a program in a new process."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env=processes.environment(),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.in_turns
def test_another_tensorflow_is_named_before_what_it_may_not_have():
    done = run(
        "import sys, tensorflow as tf; tf.__version__ = '2.99.0'\n"
        "for name in ('eager.record', 'ops.control_flow_util', 'framework.func_graph'):\n"
        "    sys.modules['tensorflow.python.' + name] = None\n"
        "import cavs_tf"
    )
    assert done.returncode != 0
    assert "found TensorFlow 2.99.0 but" in done.stderr
    assert "pip install 'tensorflow~=2.21.0'" in done.stderr


def test_the_versions_that_messages_name_are_those_of_the_metadata():
    text = (pathlib.Path(__file__).parents[2] / "pyproject.toml").read_text()
    private = (_library._HOME / "_inputs" / "keras_private.py").read_text()
    [wanted] = re.findall(r'dependencies = \[.*"(keras[^"]*)"', text)
    assert f"pip install '{wanted}'" in private


@pytest.mark.parametrize("missing", [0, 1])
def test_missing_file_is_named_with_the_command_that_makes_it(build, missing):
    build[missing].unlink()
    message = refusal(*build, "2.21.0")
    assert message == (
        f"cavs_tf is not built: {build[missing]} is missing. "
        "Run `make build` in a checkout, or else `pip install --no-build-isolation .`."
    )


def test_library_for_another_tensorflow_names_both_versions_and_the_command(build):
    library, _ = build
    assert refusal(*build, "2.22.0") == (
        f"cavs_tf: found TensorFlow 2.22.0 but {library} was built for TensorFlow 2.21.0, and "
        "works with any 2.21. Run `pip install 'tensorflow~=2.21.0'`; where cavs_tf supports the "
        "other one, build it again: `make build` in a checkout, or else `pip install "
        "--no-build-isolation .`."
    )


PARTS = [
    ("backend.common.symbolic_scope", "in_symbolic_scope"),
    ("backend.common.stateless_scope", "StatelessScope"),
    ("backend.common.global_state", None),
    ("backend.common.variables", "AutocastScope"),
    ("utils.python_utils", "is_default"),
]


# Imports Keras once, and runs a process without each part.
WITHOUT = """
import os, sys, keras, tensorflow as tf
for missing in sys.argv[1:]:
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    module, _, name = missing.rpartition(".")
    os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), 1)
    os.dup2(1, 2)
    delattr(sys.modules[module], name)
    sys.modules[missing] = None
    import cavs_tf as cavs
    graphs = cavs.GraphBatch.from_parents([[2, 2, -1]])
    count = len(list(cavs.data.batch(cavs.data.listops(3), 2)))
    print("made", graphs.schedule(2).num_tasks, count, flush=True)
    cavs.keras.TreeLSTM(4)(graphs, tf.ones([3, 2]))
    sys.exit()
"""


@pytest.mark.in_turns
def test_what_a_keras_does_not_have_is_missed_where_it_is_used(tmp_path):
    parts = [f"keras.src.{module}" + (f".{name}" if name else "") for module, name in PARTS]
    run(WITHOUT, *parts, folder=tmp_path)
    for missing in parts:
        printed = (tmp_path / missing.rpartition(".")[2]).read_text()
        assert "made 2 2\n" in printed
        assert f"which has no {missing}, but expected Keras 3.12 to 3.15." in printed
        assert "Run `pip install 'keras>=3.12,<3.16'`." in printed
