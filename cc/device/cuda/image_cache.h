// Compiled kernels on disk.
#ifndef CAVS_CC_DEVICE_CUDA_IMAGE_CACHE_H_
#define CAVS_CC_DEVICE_CUDA_IMAGE_CACHE_H_

#include <cstdint>
#include <string>

namespace cavs {

// A folder of images. The name of a file is a hash of the text, options and
// versions that the image was made from. Only the owner can read the folder,
// and a folder of someone else is not used. Files are checked when they are
// read. If anything is wrong with the folder or a file, the image is compiled
// again.
//
// Thread safety: any number of threads and processes may use one folder.
class ImageCache {
 public:
  // The folder of the environment variable CAVS_CUDA_CACHE, or cavs_tf/cuda in
  // the user's cache. Empty: nothing is kept.
  static std::string DefaultFolder();

  explicit ImageCache(std::string folder = DefaultFolder(),
                      int64_t most_bytes = 256 << 20);

  // Whether there is an image for these ingredients.
  bool Read(const std::string& ingredients, std::string* image) const;
  // Keeps an image, and deletes the oldest files if there are too many bytes.
  void Write(const std::string& ingredients, const std::string& image) const;

 private:
  std::string PathOf(const std::string& ingredients) const;
  void DeleteOldest() const;

  std::string folder_;  // Empty: nothing is kept.
  const int64_t most_bytes_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CUDA_IMAGE_CACHE_H_
