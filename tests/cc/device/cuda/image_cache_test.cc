#include "cc/device/cuda/image_cache.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace cavs {
namespace {

namespace fs = std::filesystem;

// A folder that is not there yet, and goes with the test.
class ImageCacheTest : public testing::Test {
 protected:
  ImageCacheTest() {
    std::string pattern = testing::TempDir() + "/cache_XXXXXX";
    above_ = mkdtemp(pattern.data());
    folder = (above_ / "images").string();
  }
  ~ImageCacheTest() override {
    std::error_code ignored;
    fs::permissions(folder, fs::perms::owner_all, ignored);
    fs::remove_all(above_, ignored);
  }
  std::vector<fs::path> Files() const {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(folder)) {
      files.push_back(entry.path());
    }
    return files;
  }

  // Whether the check holds in a process without privileges: permissions do not
  // count for root.
  static bool HoldsForUser(const std::function<bool()>& check) {
    const pid_t child = fork();
    if (child == 0) {
      __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
      const __user_cap_data_struct none[2] = {};
      const bool is_user = syscall(SYS_capset, &header, none) == 0;
      _exit(is_user && check() ? 0 : 1);
    }
    return HasSucceeded(child);
  }
  static bool HasSucceeded(pid_t child) {
    int status = 0;
    return waitpid(child, &status, 0) == child && status == 0;
  }

  std::string folder;

 private:
  fs::path above_;
};

TEST_F(ImageCacheTest, ReturnsWhatWasKept) {
  const std::string image("\0an image", 9);
  std::string got;
  EXPECT_FALSE(ImageCache(folder).Read("text", &got));
  ImageCache(folder).Write("text", image);
  ASSERT_TRUE(ImageCache(folder).Read("text", &got));
  EXPECT_EQ(got, image);
  EXPECT_FALSE(ImageCache(folder).Read("another text", &got));
}

TEST_F(ImageCacheTest, OnlyTheOwnerReadsIt) {
  ImageCache(folder).Write("text", "image");
  struct stat info;
  ASSERT_EQ(stat(folder.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(Files().size(), 1u);
  ASSERT_EQ(stat(Files()[0].c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(ImageCacheTest, FoldersThatOthersReachAreNotUsed) {
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_all | fs::perms::others_all);
  const ImageCache cache(folder);
  cache.Write("text", "image");
  std::string got;
  EXPECT_FALSE(cache.Read("text", &got));
  EXPECT_TRUE(Files().empty());
}

TEST_F(ImageCacheTest, FilesThatAreNotWholeAreNoImages) {
  const ImageCache cache(folder);
  const std::string image(1000, 'x');
  cache.Write("text", image);
  const fs::path file = Files()[0];
  const auto size = fs::file_size(file);
  std::string got;
  for (const auto bytes : {size - 1, size / 2, uintmax_t{10}, uintmax_t{0}}) {
    fs::resize_file(file, bytes);
    EXPECT_FALSE(cache.Read("text", &got)) << bytes;
  }
  cache.Write("text", image);
  EXPECT_TRUE(cache.Read("text", &got));
}

TEST_F(ImageCacheTest, FilesWithAnotherByteAreNoImages) {
  const ImageCache cache(folder);
  cache.Write("text", "image");
  const auto size = static_cast<int64_t>(fs::file_size(Files()[0]));
  for (int64_t at = 0; at < size; ++at) {
    cache.Write("text", "image");
    std::fstream file(Files()[0],
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(at);
    file.put(byte);
    file.close();
    std::string got;
    EXPECT_FALSE(cache.Read("text", &got)) << at;
  }
}

TEST_F(ImageCacheTest, AFolderThatCannotBeWrittenIsNoError) {
  ImageCache(folder).Write("text", "image");
  fs::permissions(folder, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_TRUE(HoldsForUser([this] {
    const ImageCache cache(folder), below(folder + "/below");
    cache.Write("another text", "image");
    below.Write("text", "image");
    std::string got;
    return access(folder.c_str(), W_OK) != 0 &&
           !cache.Read("another text", &got) && !below.Read("text", &got) &&
           cache.Read("text", &got) && got == "image";
  }));
  EXPECT_EQ(Files().size(), 1u);
}

TEST_F(ImageCacheTest, AFolderThatCannotBeMadeIsNoError) {
  const ImageCache none("/proc/no/such/folder");
  none.Write("text", "image");
  std::string got;
  EXPECT_FALSE(none.Read("text", &got));
  const ImageCache nowhere("");
  nowhere.Write("text", "image");
  EXPECT_FALSE(nowhere.Read("text", &got));
}

TEST_F(ImageCacheTest, TheOldestFilesGoFirst) {
  const ImageCache cache(folder, /*most_bytes=*/3500);
  for (int i = 0; i < 6; ++i) {
    cache.Write(std::to_string(i), std::string(1000, 'x'));
    // In the order of their numbers, on any file system.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::string got;
  EXPECT_EQ(Files().size(), 3u);
  EXPECT_FALSE(cache.Read("2", &got));
  EXPECT_TRUE(cache.Read("3", &got));
  EXPECT_TRUE(cache.Read("5", &got));
}

TEST_F(ImageCacheTest, ThreadsWriteTheSameAtOnce) {
  const ImageCache cache(folder);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        cache.Write("text", std::string(5000, 'x'));
        std::string got;
        EXPECT_TRUE(cache.Read("text", &got));
        EXPECT_EQ(got, std::string(5000, 'x'));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Files().size(), 1u);
}

// They make the folder, write and read at once. What one has written it always
// finds, unless there are too many bytes: then files go meanwhile.
TEST_F(ImageCacheTest, ProcessesShareAFolder) {
  const auto image = [](int i) { return std::string(5000 + 100 * i, 'x'); };
  for (const bool full : {false, true}) {
    std::vector<pid_t> children;
    for (int process = 0; process < 3; ++process) {
      children.push_back(fork());
      if (children.back() != 0) continue;
      const ImageCache cache(folder, full ? 12000 : 1 << 20);
      bool holds = true;
      for (int k = 0; k < 200; ++k) {
        const int i = k % 4;
        const std::string text = "text " + std::to_string(i);
        std::string got;
        cache.Write(text, image(i));
        const bool found = cache.Read(text, &got);
        holds = holds && (found ? got == image(i) : full);
      }
      _exit(holds ? 0 : 1);
    }
    for (const pid_t child : children) EXPECT_TRUE(HasSucceeded(child)) << full;
    if (!full) {
      EXPECT_EQ(Files().size(), 4u);
    }
    EXPECT_LE(Files().size(), 4u);
  }
}

TEST_F(ImageCacheTest, TheEnvironmentNamesTheFolder) {
  const char* const before = std::getenv("CAVS_CUDA_CACHE");
  const std::string kept = before == nullptr ? "" : before;
  setenv("CAVS_CUDA_CACHE", folder.c_str(), 1);
  EXPECT_EQ(ImageCache::DefaultFolder(), folder);
  unsetenv("CAVS_CUDA_CACHE");
  setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(ImageCache::DefaultFolder(), "/cache/cavs_tf/cuda");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", "/home/own", 1);
  EXPECT_EQ(ImageCache::DefaultFolder(), "/home/own/.cache/cavs_tf/cuda");
  if (before != nullptr) setenv("CAVS_CUDA_CACHE", kept.c_str(), 1);
}

}  // namespace
}  // namespace cavs
