// NVIDIA's run-time compiler, found when the program runs.
#ifndef CAVS_CC_DEVICE_CUDA_COMPILER_H_
#define CAVS_CC_DEVICE_CUDA_COMPILER_H_

#include <memory>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/device/cuda/image_cache.h"

namespace cavs {

// Turns texts in CUDA C++ into images that the driver loads.
//
// Thread safety: any thread may call any method at any time.
class CudaCompiler {
 public:
  // Loads the library that the environment variable CAVS_LIBNVRTC names. If
  // that is not set, loads the first of `candidates` that exists, or the
  // library that the system finds. kUnimplemented, with what to install, if
  // there is none.
  static Status Load(const std::vector<std::string>& candidates,
                     std::shared_ptr<const CudaCompiler>* compiler);
  ~CudaCompiler();
  CudaCompiler(const CudaCompiler&) = delete;

  // Its version, and where it was found.
  const std::string& title() const { return title_; }

  // The image of a text that includes "cavs_device.h", for a GPU of compute
  // capability major.minor; from the cache on disk if it was compiled before.
  // For a GPU that is newer than the compiler, it is PTX for the newest one
  // that the compiler knows, which the driver translates.
  Status Compile(const std::string& text, int major, int minor,
                 std::string* image) const;

 private:
  struct Functions;

  CudaCompiler(std::unique_ptr<const Functions> functions,
               const std::string& path);
  // The newest architecture that it knows and such a GPU runs: 100 for 10.0.
  int NewestKnown(int wanted) const;
  Status CompileNew(const std::string& text, const std::string& architecture,
                    bool to_ptx, std::string* image) const;

  const std::unique_ptr<const Functions> functions_;
  const ImageCache cache_;
  std::string version_, title_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_COMPILER_H_
