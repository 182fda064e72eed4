// Handles of variables.
#ifndef CAVS_CC_ENGINE_VARIABLE_H_
#define CAVS_CC_ENGINE_VARIABLE_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <vector>

namespace cavs::engine {

// A Variable is a tag that holds no data: the user of the engine decides what
// it stands for. It may be copied freely. An engine recognises handles of other
// engines, and handles of a deleted variable whose index is in use again.
struct Variable {
  uint64_t engine = 0;
  uint32_t index = 0;
  uint32_t generation = 0;

  friend bool operator==(const Variable& a, const Variable& b) {
    return a.engine == b.engine && a.index == b.index &&
           a.generation == b.generation;
  }
};

// A VariableList is a view of variables, for arguments such as {x, y} or a
// vector.
class VariableList {
 public:
  VariableList() = default;
  VariableList(std::initializer_list<Variable> list) : size_(list.size()) {
    data_ = list.begin();  // Lives until the end of the caller's statement.
  }
  VariableList(
      const std::vector<Variable>& list)  // NOLINT: an implicit conversion.
      : data_(list.data()), size_(list.size()) {}

  size_t size() const { return size_; }
  const Variable& operator[](size_t i) const { return data_[i]; }

 private:
  const Variable* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace cavs::engine

#endif  // CAVS_CC_ENGINE_VARIABLE_H_
