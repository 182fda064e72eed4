#include "tests/cc/cuda/fake/compiler.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <regex.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

extern char** environ;

// The headers of kernels are part of the library: it works wherever it lies.
// The compiler does not see `.incbin`, so this file includes the header that no
// other file of the library does, without its contents: a build follows its
// changes.
#define CAVS_TESTS_CC_CUDA_FAKE_CAVS_DEVICE_H_
#include "tests/cc/cuda/fake/cavs_device.h"
asm(R"(
.section .rodata
.globl cavs_fake_launch_header, cavs_fake_device_header
.hidden cavs_fake_launch_header, cavs_fake_device_header
cavs_fake_launch_header:
.incbin "tests/cc/cuda/fake/launch.h"
.byte 0
cavs_fake_device_header:
.incbin "tests/cc/cuda/fake/cavs_device.h"
.byte 0
.text
)");
extern "C" const char cavs_fake_launch_header[];
extern "C" const char cavs_fake_device_header[];

namespace cavs_fake {
namespace {

namespace fs = std::filesystem;

std::string Environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

fs::path Cache() {
  static const auto* folder = [] {
    auto* path = new fs::path(Environment(
        "CAVS_FAKE_CACHE", (fs::temp_directory_path() /
                            ("cavs_fake_cuda_" + std::to_string(getuid())))));
    fs::create_directories(*path);
    return path;
  }();
  return *folder;
}

// 128 bits as 32 digits.
std::string Hash(const std::string& text) {
  uint64_t a = 0xcbf29ce484222325, b = 0x9e3779b97f4a7c15;
  for (const unsigned char c : text) {
    a = (a ^ c) * 0x100000001b3;
    b = (b ^ c) * 0xff51afd7ed558ccd;
    b ^= b >> 29;
  }
  char digits[33];
  std::snprintf(digits, sizeof(digits), "%016llx%016llx",
                static_cast<unsigned long long>(a),
                static_cast<unsigned long long>(b));
  return digits;
}

bool Read(const fs::path& path, std::string* contents) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return false;
  std::ostringstream stream;
  stream << file.rdbuf();
  *contents = stream.str();
  return true;
}

// A name that no other thread or process uses.
fs::path Unique(const fs::path& path) {
  static std::atomic<int> number{0};
  return path.string() + "." + std::to_string(getpid()) + "_" +
         std::to_string(++number);
}

// Readers see all of the file or none of it.
void Write(const fs::path& path, const std::string& contents) {
  const fs::path unique = Unique(path);
  {
    std::ofstream file(unique, std::ios::binary);
    file << contents;
  }
  fs::rename(unique, path);
}

const fs::path& Headers() {
  static const auto* folder = [] {
    const std::string launch = cavs_fake_launch_header;
    const std::string device = cavs_fake_device_header;
    auto* path = new fs::path(Cache() / ("headers_" + Hash(launch + device)));
    fs::create_directories(*path);
    Write(*path / "launch.h", launch);
    Write(*path / "cavs_device.h", device);
    return path;
  }();
  return *folder;
}

std::vector<std::string> Command(int architecture) {
  std::vector<std::string> command = {
      Environment("CAVS_FAKE_CXX", "g++"), "-std=c++17",
      // To compile takes longer than to run, and so does to link.
      "-O0", "-nodefaultlibs", "-w", "-fPIC", "-shared", "-fvisibility=hidden",
      "-ffp-contract=off", "-fno-exceptions", "-fno-rtti", "-fno-math-errno",
      "-fno-stack-protector", "-nostartfiles",
      "-DCAVS_ARCHITECTURE=" + std::to_string(architecture)};
  if (__builtin_cpu_supports("fma")) command.push_back("-mfma");
  if (Environment("CAVS_FAKE_RACES", "0") != "0") {
    command.push_back("-DCAVS_FAKE_RACES");
  }
  std::istringstream more(Environment("CAVS_FAKE_FLAGS", ""));
  for (std::string flag; more >> flag;) command.push_back(flag);
  return command;
}

// What stands for a match in its place: `by`, where $1 is the first group in
// parentheses, and $$ a dollar.
std::string Filled(const std::string& by, const char* text,
                   const regmatch_t* groups) {
  std::string filled;
  for (size_t i = 0; i < by.size(); ++i) {
    if (by[i] != '$' || by[++i] == '$') {
      filled += by[i];
      continue;
    }
    const regmatch_t& group = groups[by[i] - '0'];
    filled.append(text + group.rm_so, text + group.rm_eo);
  }
  return filled;
}

// The text with the mistake that the environment asks for.
std::string Mutated(const std::string& text) {
  const std::string right = Environment("CAVS_FAKE_REPLACE", "");
  if (right.empty()) return text;
  const std::string by = Environment("CAVS_FAKE_BY", "");
  regex_t pattern;
  if (regcomp(&pattern, right.c_str(), REG_EXTENDED) != 0) std::abort();
  std::string mutated;
  const char* rest = text.c_str();
  regmatch_t groups[10];
  while (regexec(&pattern, rest, 10, groups, 0) == 0) {
    mutated.append(rest, groups[0].rm_so);
    mutated += Filled(by, rest, groups);
    rest += groups[0].rm_eo;
  }
  regfree(&pattern);
  mutated += rest;
  if (mutated != text) std::fprintf(stderr, "fake CUDA: a text is wrong\n");
  return mutated;
}

// Runs a command, whose output goes to a file. Returns its exit status.
int Run(const std::vector<std::string>& command, const fs::path& output) {
  std::vector<char*> arguments;
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  // The compiler is not to be the program of a test.
  std::vector<char*> environment;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, "LD_PRELOAD=", 11) != 0) {
      environment.push_back(*variable);
    }
  }
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child;
  int status = posix_spawnp(&child, arguments[0], &actions, nullptr,
                            arguments.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (status != 0) return status;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// The name under which an image was kept, from the note of its build; empty if
// there is none.
std::string NameOfImage(const char* image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr part;
    std::memcpy(&part, image + header.e_phoff + i * sizeof(part), sizeof(part));
    if (part.p_type != PT_NOTE) continue;
    Elf64_Nhdr note;
    std::memcpy(&note, image + part.p_offset, sizeof(note));
    if (note.n_type != NT_GNU_BUILD_ID || note.n_descsz != 16) continue;
    std::string name;
    for (unsigned k = 0; k < note.n_descsz; ++k) {
      char digits[3];
      std::snprintf(
          digits, sizeof(digits), "%02x",
          static_cast<unsigned char>(
              image[part.p_offset + sizeof(note) + note.n_namesz + k]));
      name += digits;
    }
    return name;
  }
  return "";
}

}  // namespace

Compiled Compile(const std::string& given, int architecture) {
  const std::string text = Mutated(given);
  std::vector<std::string> command = Command(architecture);
  std::string key = text;
  for (const std::string& word : command) key += '\0' + word;
  const std::string name = Hash(key + '\0' + Headers().string());
  const fs::path library = Cache() / (name + ".so");
  const fs::path source = Cache() / (name + ".cu");
  Compiled compiled;
  if (Read(library, &compiled.image)) {
    // The time of a text is that of its last use.
    std::error_code ignored;
    fs::last_write_time(source, fs::file_time_type::clock::now(), ignored);
    compiled.succeeded = compiled.was_known = true;
    return compiled;
  }
  Write(source, text);
  const fs::path unique = Unique(library), log = Unique(source);
  for (const std::string& word :
       {"-I" + Headers().string(), "-Wl,--build-id=0x" + name,
        std::string("-o"), unique.string(), std::string("-x"),
        std::string("c++"), source.string()}) {
    command.push_back(word);
  }
  const int status = Run(command, log);
  Read(log, &compiled.log);
  fs::remove(log);
  if (status != 0) {
    fs::remove(source);
    if (compiled.log.empty()) compiled.log = "The compiler could not be run.";
    return compiled;
  }
  compiled.log.clear();
  compiled.succeeded = Read(unique, &compiled.image);
  fs::rename(unique, library);
  return compiled;
}

void* LoadImage(const void* image, std::string* error) {
  const char* bytes = static_cast<const char*>(image);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0) {
    *error = "no image of a kernel";
    return nullptr;
  }
  // To link a kernel with it would take a tenth of the time of its compilation.
  static void* const math = dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  if (math == nullptr) {
    *error = dlerror();
    return nullptr;
  }
  // Reports of sanitizers and debuggers name lines if the file stays.
  const fs::path known = Cache() / (NameOfImage(bytes) + ".so");
  void* library = nullptr;
  if (fs::exists(known)) {
    library = dlopen(known.c_str(), RTLD_NOW | RTLD_LOCAL);
  } else {
    Elf64_Ehdr header;
    std::memcpy(&header, bytes, sizeof(header));
    const size_t size = header.e_shoff + header.e_shnum * header.e_shentsize;
    const fs::path unique = Unique(Cache() / "image");
    Write(unique, std::string(bytes, size));
    library = dlopen(unique.c_str(), RTLD_NOW | RTLD_LOCAL);
    fs::remove(unique);
  }
  if (library == nullptr) *error = dlerror();
  return library;
}

}  // namespace cavs_fake
