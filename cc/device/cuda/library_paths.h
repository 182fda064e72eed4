// Where to look for a library of NVIDIA's.
#ifndef CAVS_CC_DEVICE_CUDA_LIBRARY_PATHS_H_
#define CAVS_CC_DEVICE_CUDA_LIBRARY_PATHS_H_

#include <cstdlib>
#include <string>
#include <vector>

namespace cavs {

// The path that an environment variable has, or else `candidates` and then the
// names that the system may know. Not empty.
inline std::vector<std::string> LibraryPaths(
    const char* variable, std::vector<std::string> candidates,
    const std::vector<std::string>& names) {
  if (const char* given = std::getenv(variable)) return {given};
  candidates.insert(candidates.end(), names.begin(), names.end());
  return candidates;
}

// The paths as a text.
inline std::string OneOf(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) {
    text += (text.empty() ? "" : &path == &paths.back() ? " or " : ", ") + path;
  }
  return text;
}

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_LIBRARY_PATHS_H_
