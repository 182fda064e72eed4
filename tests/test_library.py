"""A library that does not fit is refused before it is loaded, with the command that fixes it."""

import json
import subprocess
import sys

import pytest

from cavs_tf import _library
from tests import processes


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


def test_library_for_this_tensorflow_is_accepted(build):
    _library.check_build(*build, "2.21.0")


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
        f"cavs_tf: found TensorFlow 2.22.0 but {library} was built for TensorFlow 2.21.0. "
        "Run `make build` in a checkout, or else `pip install --no-build-isolation .`."
    )


def test_a_keras_without_what_is_needed_of_it_names_the_one_that_has_it():
    program = (
        "import sys, keras; sys.modules['keras.src.backend.common.symbolic_scope'] = None\n"
        "import cavs_tf._keras_private"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=processes.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "but it works with Keras 3.15" in done.stderr
    assert "pip install 'keras~=3.15.0'" in done.stderr
