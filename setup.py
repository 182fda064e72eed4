"""Builds the op library and the engine with a C++ compiler and the installed TensorFlow.

`python setup.py build_ext --inplace` puts them into cavs_tf/, recompiling only what
changed. `--debug` builds without optimisation; `CAVS_SANITIZE=address,undefined`
in the environment builds with those sanitizers.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sysconfig
import time

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).parent.resolve()
OPS_DIRS = (
    "cc/base",
    "cc/device",
    "cc/engine",
    "cc/exec",
    "cc/ir",
    "cc/kernels",
    "cc/ops",
    "cc/schedule",
)
# Their files take four seconds for TensorFlow's headers, so that these are compiled once.
TENSORFLOW_DIRS = ("cc/kernels", "cc/ops")
TENSORFLOW_HEADERS = (
    "tensorflow/core/framework/op.h",
    "tensorflow/core/framework/op_kernel.h",
    "tensorflow/core/framework/shape_inference.h",
    "tensorflow/core/graph/graph.h",
)
ENGINE_DIRS = ("cc/engine", "cc/python")  # cavs_tf._cavs_engine: no TensorFlow.
ENGINE = "_cavs_engine" + sysconfig.get_config_var("EXT_SUFFIX")
NOT_IN_LIBRARY = ("_test.cc", "_bench.cc")
# Vectors are passed between functions of one file, which all have the same flags: no other ABI.
WARNINGS = ["-Wall", "-Wextra", "-Wno-psabi"]
# In every build, because the layout of TensorFlow's EdgeSet and of Abseil's hash
# tables depends on them, and the wheel was compiled this way.
LAYOUT = ["-DNDEBUG", "-DNDEBUG_SANITIZER"]


def sources(folders: tuple[str, ...]) -> list[pathlib.Path]:
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.cc"))
    return sorted(path for path in found if not path.name.endswith(NOT_IN_LIBRARY))


def uses_tensorflow(source: pathlib.Path) -> bool:
    return source.parent.relative_to(ROOT).as_posix() in TENSORFLOW_DIRS


def optimization_flags(debug: bool, sanitizers: str) -> list[str]:
    if sanitizers:
        # With the checks for null, g++ finds no constant in Abseil's comparisons of
        # function pointers. A null pointer that is used stops the process anyway.
        no_null = "-fno-sanitize=null,nonnull-attribute,returns-nonnull-attribute"
        instrument = [f"-fsanitize={sanitizers}", no_null, "-fno-sanitize-recover=all"]
        return ["-O1", "-g", "-fno-omit-frame-pointer", *instrument]
    return ["-O0", "-g"] if debug else ["-O3"]


def tensorflow_that_fits(requirements: list[str]):
    """The module; its headers are of the version that a wheel will ask for."""
    [wanted] = [
        found[1] for r in requirements if (found := re.match(r"tensorflow\b.*>=([\d.]+)", r))
    ]
    try:
        # Not needed for, say, `setup.py --version`, and slow to import.
        import tensorflow as tf
    except ImportError as error:
        raise SystemExit(
            f"TensorFlow: got {error} but expected version {wanted}. Run `pip install "
            f"'tensorflow~={wanted}.0'`, or leave out --no-build-isolation."
        ) from None
    if not tf.__version__.startswith(f"{wanted}."):
        raise SystemExit(
            f"TensorFlow: got version {tf.__version__} but expected {wanted}. Run `pip install "
            f"'tensorflow~={wanted}.0'`, or leave out --no-build-isolation."
        )
    return tf


class Compiler:
    """Turns sources into objects and shared libraries, doing no work twice.

    Beside each product lies the command that made it, dated when that began.
    """

    def __init__(self, folder: pathlib.Path, tf, debug: bool, sanitizers: str):
        self.tensorflow_version = tf.__version__
        self.program = shlex.split(os.environ.get("CXX", "c++"))
        if not shutil.which(self.program[0]):
            raise SystemExit(
                f"CXX: got {self.program[0]!r}, which is not there, but expected a C++17 "
                "compiler. Install g++ or set CXX."
            )
        self.folder = folder
        optimization = optimization_flags(debug, sanitizers)
        include = f"-I{tf.sysconfig.get_include()}"
        self.compile_flags = [
            # System headers: TensorFlow's own warnings are not ours to fix.
            *("-isystem", tf.sysconfig.get_include(), f"-I{ROOT}"),
            *(flag for flag in tf.sysconfig.get_compile_flags() if flag != include),
            *("-std=c++17", "-fPIC", "-pthread", *LAYOUT, *optimization, *WARNINGS),
        ]
        # Only for cc/python. TensorFlow ships pybind11; its classes must be hidden.
        pybind11 = pathlib.Path(tf.sysconfig.get_include()) / "external/pybind11/include"
        self.python_flags = [
            *("-isystem", str(pybind11), "-isystem", sysconfig.get_path("include")),
            "-fvisibility=hidden",
        ]
        self.link_flags = ["-shared", "-pthread", "-ldl", *optimization]
        self.ops_link_flags = ["-Wl,-z,defs", *tf.sysconfig.get_link_flags()]

    def version(self) -> str:
        command = [*self.program, "--version"]
        return subprocess.run(command, capture_output=True, text=True).stdout.partition("\n")[0]

    def precompile(self) -> pathlib.Path:
        """Returns a header for `-include`, which compilers find compiled beside it."""
        header = self.folder / "tensorflow.h"
        text = "".join(f"#include <{name}>\n" for name in TENSORFLOW_HEADERS)
        if not header.exists() or header.read_text() != text:
            self.folder.mkdir(parents=True, exist_ok=True)
            header.write_text(text)
        out = self.folder / "tensorflow.h.gch"
        command = [*self.program, *self.compile_flags, "-x", "c++-header", str(header)]
        self._make(out, [*command, "-o", str(out)], [header], "compiling TensorFlow's headers")
        return header

    def compile(self, source: pathlib.Path, headers) -> pathlib.Path:
        """Returns the object of a source; `headers` is the future of `precompile`."""
        name = source.relative_to(ROOT)
        out = self.folder / name.with_suffix(".o")
        flags = [*self.compile_flags, *(self.python_flags if "python" in name.parts else [])]
        dependencies = self._dependencies(out)
        if uses_tensorflow(source):
            flags += ["-include", str(headers.result())]
            dependencies.append(headers.result())
        command = [*self.program, *flags, "-MMD", "-c", str(source), "-o", str(out)]
        self._make(out, command, dependencies, f"compiling {name}")
        return out

    def link(self, objects: list[pathlib.Path], name: str, flags: list[str]) -> pathlib.Path:
        out = self.folder / name
        command = [*self.program, *map(str, objects), *self.link_flags, *flags, "-o", str(out)]
        self._make(out, command, objects, f"linking {name}")
        return out

    def _dependencies(self, out: pathlib.Path) -> list[pathlib.Path]:
        rule = out.with_suffix(".d")
        if not rule.exists():
            return [rule]
        _, _, words = rule.read_text().replace("\\\n", " ").partition(": ")
        return [
            pathlib.Path(word.replace("\\ ", " "))
            for word in re.split(r"(?<!\\)\s+", words)
            if word
        ]

    def _make(self, out, command, dependencies, what):
        made_by = out.with_suffix(out.suffix + ".command")
        line = f"TensorFlow {self.tensorflow_version}: {shlex.join(command)}"
        if out.exists() and made_by.exists() and made_by.read_text() == line:
            began = made_by.stat().st_mtime
            if all(path.exists() and path.stat().st_mtime <= began for path in dependencies):
                return
        print(what, flush=True)
        began = time.time()
        out.parent.mkdir(parents=True, exist_ok=True)
        made_by.unlink(missing_ok=True)
        # With these ccache works with headers that are compiled.
        environment = {"CCACHE_SLOPPINESS": "pch_defines,time_macros", **os.environ}
        if subprocess.run(command, env=environment).returncode:
            raise SystemExit(f"{what} failed: {shlex.join(command)}")
        made_by.write_text(line)
        # A source that was edited while it was being compiled is newer than this.
        os.utime(made_by, (began, began))


class BuildOps(build_ext):
    """Leaves `_cavs_ops.so`, `_build_info.json` and the engine in the package."""

    def run(self):
        sanitizers = os.environ.get("CAVS_SANITIZE", "")
        variant = sanitizers.replace(",", "-") or ("debug" if self.debug else "release")
        tf = tensorflow_that_fits(self.distribution.install_requires)
        compiler = Compiler(ROOT / "build/op_library" / variant, tf, bool(self.debug), sanitizers)
        workers = self.parallel or len(os.sched_getaffinity(0))
        # Those that wait for TensorFlow's headers come last.
        all_sources = sorted({*sources(OPS_DIRS), *sources(ENGINE_DIRS)})
        all_sources.sort(key=uses_tensorflow)
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            headers = pool.submit(compiler.precompile)
            made = pool.map(lambda source: compiler.compile(source, headers), all_sources)
            objects = dict(zip(all_sources, made, strict=True))
        ops = [objects[source] for source in sources(OPS_DIRS)]
        engine = [objects[source] for source in sources(ENGINE_DIRS)]
        libraries = [
            compiler.link(ops, "_cavs_ops.so", compiler.ops_link_flags),
            compiler.link(engine, ENGINE, []),
        ]
        info = {
            "tensorflow_version": compiler.tensorflow_version,
            "cavs_version": self.distribution.get_version(),
            "compiler": compiler.version(),
            "build": "debug" if self.debug or sanitizers else "release",
            "sanitizers": sanitizers,
        }
        *made_libraries, made_info = self.get_outputs()
        pathlib.Path(made_info).parent.mkdir(parents=True, exist_ok=True)
        for library, made in zip(libraries, made_libraries, strict=True):
            # Replaced, not overwritten: a running process may have the old one mapped.
            shutil.copy(library, made + ".new")
            os.replace(made + ".new", made)
        pathlib.Path(made_info).write_text(json.dumps(info, indent=2) + "\n")

    def get_outputs(self):
        package = (ROOT if self.inplace else pathlib.Path(self.build_lib)) / "cavs_tf"
        return [str(package / name) for name in ("_cavs_ops.so", ENGINE, "_build_info.json")]

    def get_output_mapping(self):
        return {}


# The extension names no sources: it says that the wheel holds compiled code.
setup(ext_modules=[Extension("cavs_tf._cavs_ops", [])], cmdclass={"build_ext": BuildOps})
