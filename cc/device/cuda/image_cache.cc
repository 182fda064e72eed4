#include "cc/device/cuda/image_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>
#include <vector>

namespace cavs {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[] = "cavs_tf image 1\n";

// FNV-1a.
uint64_t Hash(const std::string& text, uint64_t seed) {
  uint64_t hash = 14695981039346656037u ^ seed;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return hash;
}

std::string Hex(uint64_t number) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx",
                static_cast<unsigned long long>(number));
  return digits;
}

// Stands before the image in a file: of which ingredients it was made, and what
// its bytes must be.
std::string HeadOf(const std::string& ingredients, const std::string& image) {
  return kMagic + Hex(Hash(ingredients, 2)) + Hex(ingredients.size()) +
         Hex(image.size()) + Hex(Hash(image, 3)) + "\n";
}

// Whether only this user can read or change the folder, which is made if there
// is none.
bool IsPrivate(const std::string& folder) {
  std::error_code error;
  fs::create_directories(fs::path(folder).parent_path(), error);
  mkdir(folder.c_str(), 0700);
  struct stat info;
  return lstat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode) &&
         info.st_uid == geteuid() && (info.st_mode & 077) == 0;
}

}  // namespace

std::string ImageCache::DefaultFolder() {
  if (const char* own = std::getenv("CAVS_CUDA_CACHE")) return own;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) {
    if (*cache != 0) return std::string(cache) + "/cavs_tf/cuda";
  }
  const char* const home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.cache/cavs_tf/cuda";
}

ImageCache::ImageCache(std::string folder, int64_t most_bytes)
    : folder_(std::move(folder)), most_bytes_(most_bytes) {
  if (!folder_.empty() && !IsPrivate(folder_)) folder_.clear();
}

std::string ImageCache::PathOf(const std::string& ingredients) const {
  return folder_ + "/" + Hex(Hash(ingredients, 0)) + Hex(Hash(ingredients, 1)) +
         ".cubin";
}

bool ImageCache::Read(const std::string& ingredients,
                      std::string* image) const {
  if (folder_.empty()) return false;
  std::ifstream file(PathOf(ingredients), std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(file)),
                  std::istreambuf_iterator<char>());
  const size_t head = HeadOf("", "").size();
  if (all.size() < head) return false;
  std::string found = all.substr(head);
  if (HeadOf(ingredients, found) != all.substr(0, head)) return false;
  *image = std::move(found);
  return true;
}

// A reader sees the whole file or none, since it is renamed when it is whole.
void ImageCache::Write(const std::string& ingredients,
                       const std::string& image) const {
  if (folder_.empty()) return;
  const std::string path = PathOf(ingredients);
  std::string part = path + ".XXXXXX";
  const int file = mkstemp(part.data());
  if (file < 0) return;
  const std::string all = HeadOf(ingredients, image) + image;
  const bool whole =
      write(file, all.data(), all.size()) == static_cast<ssize_t>(all.size());
  close(file);
  if (!whole || std::rename(part.c_str(), path.c_str()) != 0) {
    unlink(part.c_str());
  }
  DeleteOldest();
}

void ImageCache::DeleteOldest() const {
  struct File {
    fs::file_time_type time;
    int64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  int64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end;
       !error && entry != end; entry.increment(error)) {
    std::error_code gone;  // Another process may delete a file meanwhile.
    const auto size = static_cast<int64_t>(entry->file_size(gone));
    const fs::file_time_type time = entry->last_write_time(gone);
    if (gone) continue;
    files.push_back({time, size, entry->path()});
    bytes += size;
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.time < b.time; });
  for (size_t i = 0; i < files.size() && bytes > most_bytes_; ++i) {
    fs::remove(files[i].path, error);
    bytes -= files[i].bytes;
  }
}

}  // namespace cavs
