"""Compiles texts of kernels by NVRTC: what the emulator takes has to be CUDA C++ too.

Kernels of all programs, which are the texts of several kernels, are compiled as the product does,
and must keep all that a thread knows in registers.

    python tests/cc/cuda/nvrtc_check.py --texts=<folder> --passed=<file>

The texts are the `*.cu` that the fake compiler keeps in CAVS_FAKE_CACHE. NVRTC is that of a
wheel, `nvidia-cuda-nvrtc-cu12` or `nvidia-cuda-nvrtc`: no GPU and no driver is needed.
"""

import argparse
import concurrent.futures
import ctypes
import glob
import hashlib
import multiprocessing
import os
import pathlib
import re
import sys
import zlib

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
OPTIONS = ("--std=c++17", "--fmad=false")
FAST = ("--Ofast-compile=max", "--ptxas-options=-O0")  # Optimizers take most of the time.
TELL_REGISTERS = ("--ptxas-options=-v",)
TOGETHER = 64  # So many small programs are compiled as one.
HEADER_NAME = "cavs_device.h"
ROOT = pathlib.Path(__file__).parents[3]


class Nvrtc:
    """The functions of a library of NVRTC that are needed here."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path)
        major, minor = ctypes.c_int(), ctypes.c_int()
        self._library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = f"{major.value}.{minor.value}"

    def compile(self, text, header, architecture, options):
        """Returns an error with the compiler's log, or "" if the text compiles as it should."""
        program = ctypes.c_void_p()
        one = ctypes.c_char_p * 1
        status = self._library.nvrtcCreateProgram(
            ctypes.byref(program),
            text.encode(),
            b"kernels.cu",
            1,
            one(header.encode()),
            one(HEADER_NAME.encode()),
        )
        if status:
            return f"nvrtcCreateProgram: {status}"
        words = [f"--gpu-architecture={architecture}", *options]
        words = [word.encode() for word in words]
        status = self._library.nvrtcCompileProgram(
            program, len(words), (ctypes.c_char_p * len(words))(*words)
        )
        size = ctypes.c_size_t()
        self._library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self._library.nvrtcGetProgramLog(program, log)
        if not status:
            self._library.nvrtcGetCUBINSize(program, ctypes.byref(size))
        self._library.nvrtcDestroyProgram(ctypes.byref(program))
        if status:
            return f"nvrtcCompileProgram: {status}\n{log.value.decode()}"
        return outside_of_registers(log.value.decode()) if size.value else "no image"


def options_for(text):
    """Returns the compiler's options for a text."""
    return OPTIONS + (TELL_REGISTERS if text.count("KERNEL(") > 1 else FAST)


def outside_of_registers(log):
    """Returns which kernels of a compiler's log keep something in memory of a thread, or ""."""
    found = re.findall(r"properties for (\w+)\n.*?(\d+) bytes stack frame, (\d+) bytes spill", log)
    return "\n".join(
        f"{kernel}: {stack} bytes of memory of a thread, {spilled} of them spilled from registers"
        for kernel, stack, spilled in found
        if int(stack) or int(spilled)
    )


def find_nvrtc():
    """Returns the path of a wheel's NVRTC, or None."""
    for folder in sys.path:
        for part in ("cuda_nvrtc/lib", "cu13/lib"):
            found = glob.glob(f"{folder}/nvidia/{part}/libnvrtc.so.*")
            if found:
                return found[0]
    return None


def header_text(path):
    """Returns the header of the kernels: the raw string in a C++ source, or a file's text."""
    source = pathlib.Path(path).read_text()
    quoted = re.search(r'R"(\w*)\((.*?)\)\1"', source, re.DOTALL)
    return quoted[2] if quoted else source


def together(texts):
    """Returns one program of several, each of which has a kernel of the name `group`."""
    parts = [f'#include "{HEADER_NAME}"']
    for i, text in enumerate(texts):
        own = text.replace(f'#include "{HEADER_NAME}"', "")
        parts.append(f"#define group group_{i}\nnamespace n{i} {{\n{own}\n}}\n#undef group\n")
    return "\n".join(parts)


def _compile_all(nvrtc, header, jobs):
    library = Nvrtc(nvrtc)
    errors = {}

    def compile_alone(jobs):
        for path, arch in jobs:
            text = pathlib.Path(path).read_text()
            errors[path, arch] = library.compile(text, header, arch, options_for(text))

    # The first to be compiled are those whose registers count: a process that has once compiled
    # fast puts fewer into registers ever after.
    alone, small = [], {}  # The latter have one kernel, and begin faster together.
    for path, arch in jobs:
        text = pathlib.Path(path).read_text()
        if text.count("KERNEL(") == 1 and "KERNEL(group," in text:
            small.setdefault(arch, []).append(path)
        elif options_for(text) == OPTIONS + FAST:
            alone.append((path, arch))
        else:
            compile_alone([(path, arch)])
    compile_alone(alone)
    for arch, paths in small.items():
        for i in range(0, len(paths), TOGETHER):
            some = [(path, arch) for path in paths[i : i + TOGETHER]]
            texts = [pathlib.Path(path).read_text() for path, _ in some]
            if library.compile(together(texts), header, arch, OPTIONS + FAST):
                compile_alone(some)  # To say which of them it is.
            else:
                errors.update(dict.fromkeys(some, ""))
    return [errors[job] for job in jobs]


def check(paths, header, nvrtc, architectures, every, passed, processes):
    """Compiles files; returns the errors by file and architecture.

    Args:
      paths: Files of kernels.
      header: The text of the header that they include.
      nvrtc: The path of NVRTC's library.
      architectures: Names such as "sm_90".
      every: Whether each file is compiled for every architecture, rather than for one in turn.
      passed: A file that keeps the keys of what has compiled, which is not compiled again.
      processes: How many compile at the same time.
    """
    version = Nvrtc(nvrtc).version
    known = set(passed.read_text().split()) if passed and passed.exists() else set()
    jobs = {}
    for path in paths:
        text = pathlib.Path(path).read_text()
        first = zlib.crc32(text.encode()) % len(architectures)
        for architecture in architectures if every else architectures[first : first + 1]:
            ingredients = (text, header, architecture, version, *options_for(text))
            key = hashlib.sha256("\0".join(ingredients).encode()).hexdigest()
            if key not in known:
                jobs[path, architecture] = key
    shares = [list(jobs)[i::processes] for i in range(processes)]
    context = multiprocessing.get_context("spawn")
    errors = {}
    with concurrent.futures.ProcessPoolExecutor(processes, context) as pool:
        answers = [pool.submit(_compile_all, nvrtc, header, share) for share in shares if share]
        for share, answer in zip(shares, answers, strict=False):
            for job, error in zip(share, answer.result(), strict=True):
                if error:
                    errors[job] = error
                else:
                    known.add(jobs[job])
    if passed:
        passed.parent.mkdir(parents=True, exist_ok=True)
        passed.write_text("\n".join(sorted(known)) + "\n")
    return errors


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--texts", type=pathlib.Path, required=True, help="folder of *.cu files")
    parser.add_argument("--since", type=pathlib.Path, help="only those used after this file")
    parser.add_argument("--header", default=ROOT / "cc/device/cuda/source/device_header.cc")
    parser.add_argument("--nvrtc", default=find_nvrtc(), help="libnvrtc.so.*")
    parser.add_argument("--architectures", default=",".join(ARCHITECTURES))
    parser.add_argument(
        "--every",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="each text for every architecture, rather than for one of them in turn",
    )
    parser.add_argument("--passed", type=pathlib.Path, help="file that keeps what has compiled")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    flags = parser.parse_args(arguments)
    if flags.nvrtc is None:
        parser.error("no NVRTC. Run `pip install nvidia-cuda-nvrtc-cu12`.")
    paths = sorted(flags.texts.glob("*.cu"))
    if flags.since:
        since = flags.since.stat().st_mtime
        paths = [path for path in paths if path.stat().st_mtime >= since]
    # Texts lie there once for each way in which the emulator has compiled them.
    paths = list({path.read_text(): path for path in paths}.values())
    architectures = flags.architectures.split(",")
    header = header_text(flags.header)
    options = (flags.every, flags.passed, flags.processes)
    errors = check(paths, header, flags.nvrtc, architectures, *options)
    for (path, architecture), error in list(errors.items())[:5]:
        print(f"{path} for {architecture}: {error}")
    failed = {path for path, _ in errors}
    each = "" if flags.every else "one of "
    print(
        f"{len(paths) - len(failed)} of {len(paths)} programs compile for {each}"
        f"{', '.join(architectures)} by NVRTC {Nvrtc(flags.nvrtc).version}"
    )
    return 1 if errors or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
