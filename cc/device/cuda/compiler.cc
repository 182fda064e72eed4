#include "cc/device/cuda/compiler.h"

#include <dlfcn.h>

#include <algorithm>
#include <utility>

#include "cc/device/cuda/library_paths.h"
#include "cc/device/cuda/source/device_header.h"

struct _nvrtcProgram;

namespace cavs {
namespace {

// Products and sums are rounded one by one, so that results are the same on
// every device; kernels call fma() where they mean it.
constexpr const char* kOptions[] = {"--std=c++17", "--fmad=false"};

}  // namespace

// NVRTC's functions, declared here so that its header is not needed.
struct CudaCompiler::Functions {
  using Program = _nvrtcProgram*;
  int (*version)(int* major, int* minor) = nullptr;
  int (*create)(Program* program, const char* text, const char* name,
                int num_headers, const char* const* headers,
                const char* const* include_names) = nullptr;
  int (*destroy)(Program* program) = nullptr;
  int (*compile)(Program program, int num_options,
                 const char* const* options) = nullptr;
  int (*log_size)(Program program, size_t* size) = nullptr;
  int (*log)(Program program, char* text) = nullptr;
  int (*image_size)(Program program, size_t* size) = nullptr;
  int (*image)(Program program, char* image) = nullptr;
  int (*ptx_size)(Program program, size_t* size) = nullptr;
  int (*ptx)(Program program, char* text) = nullptr;
  int (*num_architectures)(int* number) = nullptr;
  int (*architectures)(int* numbers) = nullptr;

  bool Find(void* library) {
    const auto find = [library](const char* name, auto* function) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(
          dlsym(library, name));
      return *function != nullptr;
    };
    return find("nvrtcVersion", &version) &&
           find("nvrtcCreateProgram", &create) &&
           find("nvrtcDestroyProgram", &destroy) &&
           find("nvrtcCompileProgram", &compile) &&
           find("nvrtcGetProgramLogSize", &log_size) &&
           find("nvrtcGetProgramLog", &log) &&
           find("nvrtcGetCUBINSize", &image_size) &&
           find("nvrtcGetCUBIN", &image) &&
           find("nvrtcGetPTXSize", &ptx_size) && find("nvrtcGetPTX", &ptx) &&
           find("nvrtcGetNumSupportedArchs", &num_architectures) &&
           find("nvrtcGetSupportedArchs", &architectures);
  }
};

CudaCompiler::CudaCompiler(std::unique_ptr<const Functions> functions,
                           const std::string& path)
    : functions_(std::move(functions)) {
  int major = 0, minor = 0;
  functions_->version(&major, &minor);
  version_ = StrCat(major, ".", minor);
  title_ = StrCat(version_, ", ", path);
  // What the compiler of CUDA 13 loads by its name while it compiles, though
  // the loader does not look into the folder of a wheel: now it is known.
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::string builtins =
      StrCat(folder, "libnvrtc-builtins.so.", version_);
  if (!folder.empty()) dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
}

CudaCompiler::~CudaCompiler() = default;

Status CudaCompiler::Load(const std::vector<std::string>& candidates,
                          std::shared_ptr<const CudaCompiler>* compiler) {
  const std::vector<std::string> paths =
      LibraryPaths("CAVS_LIBNVRTC", candidates,
                   {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                    "/usr/local/cuda/lib64/libnvrtc.so"});
  for (const std::string& path : paths) {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto functions = std::make_unique<Functions>();
    if (library == nullptr || !functions->Find(library)) continue;
    compiler->reset(new CudaCompiler(std::move(functions), path));
    return Status();
  }
  return Status(StatusCode::kUnimplemented,
                StrCat("NVRTC: got no library of the name ", OneOf(paths),
                       " but expected NVIDIA's run-time compiler. Run `pip "
                       "install 'tensorflow[and-cuda]'`, or set CAVS_LIBNVRTC "
                       "to the path of libnvrtc.so."));
}

int CudaCompiler::NewestKnown(int wanted) const {
  int number = 0;
  functions_->num_architectures(&number);
  std::vector<int> known(number);
  functions_->architectures(known.data());
  int newest = 0;
  for (const int own : known) {
    if (own <= wanted) newest = std::max(newest, own);
  }
  return newest;
}

Status CudaCompiler::Compile(const std::string& text, int major, int minor,
                             std::string* image) const {
  const int wanted = 10 * major + minor, known = NewestKnown(wanted);
  const bool to_ptx = known < wanted;
  const std::string architecture =
      StrCat("--gpu-architecture=", to_ptx ? "compute_" : "sm_", known);
  std::string ingredients =
      StrCat(version_, "\n", architecture, "\n", kDeviceHeader, "\n", text);
  for (const char* option : kOptions) ingredients += option;
  if (cache_.Read(ingredients, image)) return Status();
  CAVS_RETURN_IF_ERROR(CompileNew(text, architecture, to_ptx, image));
  cache_.Write(ingredients, *image);
  return Status();
}

Status CudaCompiler::CompileNew(const std::string& text,
                                const std::string& architecture, bool to_ptx,
                                std::string* image) const {
  const auto failed = [&](int result, const std::string& log) {
    return Internal("NVRTC ", version_, ": got error ", result, " for a kernel",
                    " but expected it to compile for ", architecture,
                    ". Update the package nvidia-cuda-nvrtc, or use the CPU. ",
                    log);
  };
  Functions::Program program;
  const char* const name = "cavs_device.h";
  const char* const header = kDeviceHeader;
  int result =
      functions_->create(&program, text.c_str(), "cavs.cu", 1, &header, &name);
  if (result != 0) return failed(result, "");
  std::vector<const char*> options(std::begin(kOptions), std::end(kOptions));
  options.push_back(architecture.c_str());
  result = functions_->compile(program, static_cast<int>(options.size()),
                               options.data());
  std::string log;
  size_t size = 0;
  if (result != 0 && functions_->log_size(program, &size) == 0) {
    log.resize(size);
    functions_->log(program, log.data());
  }
  const auto read_size = to_ptx ? functions_->ptx_size : functions_->image_size;
  if (result == 0) result = read_size(program, &size);
  if (result == 0) {
    image->resize(size);
    const auto read = to_ptx ? functions_->ptx : functions_->image;
    result = read(program, image->data());
  }
  functions_->destroy(&program);
  return result == 0 ? Status() : failed(result, log);
}

}  // namespace cavs
