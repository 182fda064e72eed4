// Compiles texts of kernels by the compiler of the host.
#ifndef CAVS_TESTS_CC_CUDA_FAKE_COMPILER_H_
#define CAVS_TESTS_CC_CUDA_FAKE_COMPILER_H_

#include <string>

namespace cavs_fake {

struct Compiled {
  bool succeeded = false;
  bool was_known = false;  // From an earlier time.
  std::string image;       // A shared library's contents.
  std::string log;
};

// Images are kept on disk, by text and flags, and the text beside them.
// Any number of threads and processes may compile at once.
Compiled Compile(const std::string& text, int architecture);

// Loads an image; null, with an error, if it is none.
void* LoadImage(const void* image, std::string* error);

}  // namespace cavs_fake

#endif  // CAVS_TESTS_CC_CUDA_FAKE_COMPILER_H_
