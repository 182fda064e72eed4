"""Compiles texts of kernels by NVRTC: what the emulator takes has to be CUDA C++ too.

Each is compiled to machine code for each architecture, fast. For one of them in turn, kernels of
all programs, which are the texts of several kernels, are compiled as the product does, and must
keep all that a thread knows in registers. So is an eighth of the walks and of the products with a
group behind them; these products may keep a little elsewhere. With --every all of these are
compiled as the product does, for each architecture.

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
# Optimizers take most of the time.
FAST = ("--Ofast-compile=max", "--ptxas-options=-O0")
TELL_REGISTERS = ("--ptxas-options=-v",)
# Two blocks of it are to fit on a processor, so that a thread has 128 registers. With a large group
# a few bytes lie outside of them (28, by NVRTC 12.9), which costs less than a block that waits.
THEN = "products_then_group"
MOST_BYTES_OF_THEN = 32
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


def options_for(text, has_turn, every):
    """Returns the compiler's options for a text, perhaps for the architecture that has the turn."""
    is_large = "KERNEL(walk," in text or f"KERNEL({THEN}," in text
    is_chosen = is_large and (every or zlib.crc32(text.encode()) % 8 == 0)
    as_product = (every or has_turn) and (is_chosen or text.count("KERNEL(") > 1)
    return OPTIONS + (TELL_REGISTERS if as_product else FAST)


def outside_of_registers(log):
    """Returns which kernels of a compiler's log keep something in memory of a thread, or ""."""
    found = re.findall(r"properties for (\w+)\n.*?(\d+) bytes stack frame, (\d+) bytes spill", log)
    return "\n".join(
        f"{kernel}: {stack} bytes of memory of a thread, {spilled} of them spilled from registers"
        for kernel, stack, spilled in found
        if max(int(stack), int(spilled)) > (MOST_BYTES_OF_THEN if kernel == THEN else 0)
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
        for job in jobs:
            text = pathlib.Path(job[0]).read_text()
            errors[job] = library.compile(text, header, *job[1:])

    # The first to be compiled are those whose registers count: a process that has once compiled
    # fast puts fewer into registers ever after.
    alone, small = [], {}  # The latter have one kernel, and begin faster together.
    for job in jobs:
        path, *how = job
        text = pathlib.Path(path).read_text()
        if text.count("KERNEL(") == 1 and "KERNEL(group," in text:
            small.setdefault(tuple(how), []).append(job)
        elif how[-1] == OPTIONS + TELL_REGISTERS:
            compile_alone([job])
        else:
            alone.append(job)
    compile_alone(alone)
    for how, own in small.items():
        for i in range(0, len(own), TOGETHER):
            some = own[i : i + TOGETHER]
            texts = [pathlib.Path(path).read_text() for path, *_ in some]
            if library.compile(together(texts), header, *how):
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
      every: Whether registers are counted for every architecture, rather than for one in turn, and
        of all large programs.
      passed: A file that keeps the keys of what has compiled, which is not compiled again.
      processes: How many compile at the same time.
    """
    version = Nvrtc(nvrtc).version
    known = set(passed.read_text().split()) if passed and passed.exists() else set()
    jobs = {}
    for path in paths:
        text = pathlib.Path(path).read_text()
        turn = architectures[zlib.crc32(text.encode()) % len(architectures)]
        for architecture in architectures:
            options = options_for(text, architecture == turn, every)
            ingredients = (text, header, architecture, version, *options)
            key = hashlib.sha256("\0".join(ingredients).encode()).hexdigest()
            if key not in known:
                jobs[path, architecture, options] = key
    shares = [list(jobs)[i::processes] for i in range(processes)]
    context = multiprocessing.get_context("spawn")
    errors = {}
    with concurrent.futures.ProcessPoolExecutor(processes, context) as pool:
        answers = [pool.submit(_compile_all, nvrtc, header, share) for share in shares if share]
        for share, answer in zip(shares, answers, strict=False):
            for job, error in zip(share, answer.result(), strict=True):
                if error:
                    errors[job[:2]] = error
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
        help="count registers for every architecture, rather than for one in turn",
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
    each = "" if flags.every else ", optimized for one of them in turn"
    print(
        f"{len(paths) - len(failed)} of {len(paths)} programs compile for "
        f"{', '.join(architectures)} by NVRTC {Nvrtc(flags.nvrtc).version}{each}"
    )
    return 1 if errors or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
