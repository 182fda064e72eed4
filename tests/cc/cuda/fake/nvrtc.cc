// The functions of NVRTC.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "tests/cc/cuda/fake/compiler.h"
#include "tests/cc/cuda/fake/entry.h"

namespace cavs_fake {
namespace {

struct Program {
  std::string text;
  Compiled compiled;
  bool has_image = false;
};

// Those that NVRTC 12.9 knows.
constexpr int kArchitectures[] = {50, 52, 53, 60, 61,  62,  70,  72,  75, 80,
                                  86, 87, 89, 90, 100, 101, 103, 120, 121};

// The number of --gpu-architecture=sm_90, or that of compute_90, negative; 0 if
// it is none that is known.
int Architecture(const std::string& option, bool* found) {
  for (const char* name : {"--gpu-architecture=", "-arch="}) {
    if (option.rfind(name, 0) != 0) continue;
    *found = true;
    const std::string value = option.substr(std::strlen(name));
    for (const int own : kArchitectures) {
      const std::string number = std::to_string(own);
      if (value == "sm_" + number) return own;
      if (value == "compute_" + number) return -own;
    }
  }
  return 0;
}

}  // namespace

CAVS_FAKE(nvrtcVersion, int* major, int* minor) {
  *major = 12;
  *minor = 9;
  return kNvrtcSuccess;
}

CAVS_FAKE(nvrtcCreateProgram, Program** program, const char* text, const char*,
          int headers, const char* const* header_texts,
          const char* const* header_names) {
  if (text == nullptr ||
      (headers > 0 && (header_texts == nullptr || header_names == nullptr))) {
    return kNvrtcInvalidInput;
  }
  // The text of a header is not used, but it has to be there.
  for (int i = 0; i < headers; ++i) {
    if (std::strlen(header_texts[i]) == 0) return kNvrtcInvalidInput;
  }
  *program = new Program();
  (*program)->text = text;
  return kNvrtcSuccess;
}

CAVS_FAKE(nvrtcDestroyProgram, Program** program) {
  if (program == nullptr || *program == nullptr) return kNvrtcInvalidProgram;
  delete *program;
  *program = nullptr;
  return kNvrtcSuccess;
}

CAVS_FAKE(nvrtcCompileProgram, Program* program, int count,
          const char* const* options) {
  if (program == nullptr) return kNvrtcInvalidProgram;
  int architecture = 75;
  for (int i = 0; i < count; ++i) {
    bool found = false;
    const int number = Architecture(options[i], &found);
    if (found) architecture = number;
    if (options[i][0] != '-' || (found && number == 0)) {
      program->compiled.log =
          std::string("error: invalid value or option: ") + options[i];
      return kNvrtcInvalidOption;
    }
  }
  Machine& m = Machine::Get();
  {
    const Lock lock(m.mutex);
    ++m.counts.compiles;
    ++m.calls["nvrtcCompileProgram"];
    if (const int error = m.Planned("nvrtcCompileProgram"); error != 0) {
      program->compiled.log = "error: told to fail";
      return error;
    }
  }
  program->compiled = Compile(program->text, architecture);
  program->has_image = program->compiled.succeeded && architecture > 0;
  if (!program->compiled.succeeded) return kNvrtcCompilation;
  const Lock lock(m.mutex);
  m.counts.compiled += !program->compiled.was_known;
  return kNvrtcSuccess;
}

CAVS_FAKE(nvrtcGetProgramLogSize, Program* program, size_t* bytes) {
  *bytes = program->compiled.log.size() + 1;
  return kNvrtcSuccess;
}

CAVS_FAKE(nvrtcGetProgramLog, Program* program, char* log) {
  std::memcpy(log, program->compiled.log.c_str(),
              program->compiled.log.size() + 1);
  return kNvrtcSuccess;
}

CAVS_FAKE(nvrtcGetCUBINSize, Program* program, size_t* bytes) {
  if (!program->compiled.succeeded) return kNvrtcInvalidProgram;
  *bytes = program->has_image ? program->compiled.image.size() : 0;
  return kNvrtcSuccess;
}

CAVS_FAKE(nvrtcGetCUBIN, Program* program, char* image) {
  if (!program->has_image) return kNvrtcInvalidProgram;
  std::memcpy(image, program->compiled.image.data(),
              program->compiled.image.size());
  return kNvrtcSuccess;
}

// What stands in for PTX is an image whose architecture is negative.
CAVS_FAKE(nvrtcGetPTXSize, Program* program, size_t* bytes) {
  if (!program->compiled.succeeded) return kNvrtcInvalidProgram;
  *bytes = program->compiled.image.size();
  return kNvrtcSuccess;
}

CAVS_FAKE(nvrtcGetPTX, Program* program, char* text) {
  if (!program->compiled.succeeded) return kNvrtcInvalidProgram;
  std::memcpy(text, program->compiled.image.data(),
              program->compiled.image.size());
  return kNvrtcSuccess;
}

CAVS_FAKE(nvrtcGetNumSupportedArchs, int* number) {
  *number = static_cast<int>(std::size(kArchitectures));
  return kNvrtcSuccess;
}

CAVS_FAKE(nvrtcGetSupportedArchs, int* numbers) {
  std::copy(std::begin(kArchitectures), std::end(kArchitectures), numbers);
  return kNvrtcSuccess;
}

extern "C" __attribute__((visibility("default"))) const char*
nvrtcGetErrorString(int error) {
  switch (error) {
    case kNvrtcSuccess:
      return "NVRTC_SUCCESS";
    case kNvrtcCreationFailure:
      return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case kNvrtcInvalidInput:
      return "NVRTC_ERROR_INVALID_INPUT";
    case kNvrtcInvalidProgram:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case kNvrtcInvalidOption:
      return "NVRTC_ERROR_INVALID_OPTION";
    case kNvrtcCompilation:
      return "NVRTC_ERROR_COMPILATION";
    default:
      return "NVRTC_ERROR unknown";
  }
}

}  // namespace cavs_fake
