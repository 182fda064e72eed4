// A read-only view of consecutive elements (C++17 has no std::span).
#ifndef CAVS_CC_BASE_SPAN_H_
#define CAVS_CC_BASE_SPAN_H_

#include <cstdint>
#include <vector>

namespace cavs {

template <typename T>
class Span {
 public:
  Span() = default;
  Span(const T* data, int64_t size) : data_(data), size_(size) {}
  Span(const std::vector<T>& v)  // NOLINT: an implicit conversion on purpose.
      : Span(v.data(), static_cast<int64_t>(v.size())) {}

  const T* data() const { return data_; }
  int64_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](int64_t i) const { return data_[i]; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  Span subspan(int64_t first, int64_t size) const {
    return Span(data_ + first, size);
  }

 private:
  const T* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace cavs

#endif  // CAVS_CC_BASE_SPAN_H_
