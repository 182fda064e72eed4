#include "evaluator.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

namespace fold {
namespace {

// program.py refuses wider values.
using Buffer = std::array<int32_t, 32>;

}  // namespace

void Evaluator::Run(int32_t object) {
  Buffer out;
  Evaluate(program_.root, &object, out.data());
}

void Evaluator::Evaluate(int32_t number, const int32_t* in, int32_t* out) {
  const Block& block = program_.blocks[number];
  switch (block.kind) {
    case Kind::kField:
      out[0] = Read(block.parts[0], in[0]);
      return;
    case Kind::kItems:
      return Items(block, in, out);
    case Kind::kSlice:
      std::copy_n(in + block.parts[0], block.out_width, out);
      return;
    case Kind::kAll:
      for (int32_t part : block.parts) {
        Evaluate(part, in, out);
        out += program_.blocks[part].out_width;
      }
      return;
    case Kind::kChain:
      return Chain(block, in, out);
    case Kind::kOneOf:
      return OneOf(block, in, out);
    case Kind::kMap:
      return Map(block, in, out);
    case Kind::kFold:
      return Fold(block, in, out);
    case Kind::kScan:
      return Scan(block, in, out);
    case Kind::kReduce:
      if (in[1] == 0) return Evaluate(block.parts[1], in, out);
      return Reduce(block, in[0], in[0] + in[1] * block.out_width, out);
    case Kind::kZip:
      return Zip(block, in, out);
    case Kind::kReverse:
      return Reverse(block, in, out);
    case Kind::kSource: {
      const bool shared = block.in_width == 0 || block.parts[1] != 0;
      out[0] = graph_.AddSource(block.parts[0], shared ? 0 : in[0], shared);
      return;
    }
    case Kind::kCall: {
      const int32_t first = graph_.AddCall(block.parts[0], in);
      for (int32_t i = 0; i < block.out_width; ++i) out[i] = first + i;
      return;
    }
    case Kind::kOutput:
      graph_.AddOutput(block.parts[0], in[0]);
      return;
    case Kind::kBroadcast:
      return Broadcast(block, in, out);
  }
}

void Evaluator::Items(const Block& block, const int32_t* in, int32_t* out) {
  const int32_t first = Read(block.parts[0], in[0]);
  const int32_t last = Read(block.parts[0], static_cast<int64_t>(in[0]) + 1);
  out[0] = Allocate(last - first);
  out[1] = last - first;
  for (int32_t i = first; i < last; ++i)
    pool_[out[0] + i - first] = Read(block.parts[1], i);
}

void Evaluator::Chain(const Block& block, const int32_t* in, int32_t* out) {
  Buffer buffers[2];
  const size_t last = block.parts.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    int32_t* made = i == last ? out : buffers[i % 2].data();
    Evaluate(block.parts[i], in, made);
    in = made;
  }
}

void Evaluator::OneOf(const Block& block, const int32_t* in, int32_t* out) {
  int32_t key;
  Evaluate(block.parts[0], in, &key);
  for (size_t i = 1; i < block.parts.size(); i += 2) {
    if (block.parts[i] == key) return Evaluate(block.parts[i + 1], in, out);
  }
  throw std::invalid_argument("OneOf: got the key " + std::to_string(key) +
                              " but expected that of a case");
}

void Evaluator::Map(const Block& block, const int32_t* in, int32_t* out) {
  const Block& item = program_.blocks[block.parts[0]];
  Buffer from, to;
  const int32_t at = Allocate(in[1] * item.out_width);
  for (int32_t i = 0; i < in[1]; ++i) {
    Load(in[0] + i * item.in_width, item.in_width, from.data());
    Evaluate(block.parts[0], from.data(), to.data());
    Store(to.data(), item.out_width, at + i * item.out_width);
  }
  out[0] = at;
  out[1] = in[1];
}

void Evaluator::Fold(const Block& block, const int32_t* in, int32_t* out) {
  const int32_t state = block.out_width;
  const int32_t item = program_.blocks[block.parts[0]].in_width - state;
  const int32_t at = in[state], count = in[state + 1];
  Buffer from;
  std::copy_n(in, state, out);
  for (int32_t i = 0; i < count; ++i) {
    std::copy_n(out, state, from.data());
    Load(at + i * item, item, from.data() + state);
    Evaluate(block.parts[0], from.data(), out);
  }
}

void Evaluator::Scan(const Block& block, const int32_t* in, int32_t* out) {
  const Block& cell = program_.blocks[block.parts[0]];
  const int32_t state = block.in_width - 2;
  const int32_t item = cell.in_width - state, made = cell.out_width - state;
  const int32_t count = in[1];
  const int32_t at = Allocate(count * made);
  Buffer from, to;
  std::copy_n(in + 2, state, from.data() + item);
  for (int32_t i = 0; i < count; ++i) {
    Load(in[0] + i * item, item, from.data());
    Evaluate(block.parts[0], from.data(), to.data());
    Store(to.data(), made, at + i * made);
    std::copy_n(to.data() + made, state, from.data() + item);
  }
  out[0] = at;
  out[1] = count;
  std::copy_n(from.data() + item, state, out + 2);
}

// The tree is balanced: n items take log2(n) depths.
void Evaluator::Reduce(const Block& block, int32_t first, int32_t last,
                       int32_t* out) {
  const int32_t width = block.out_width;
  const int32_t count = (last - first) / width;
  if (count == 1) return Load(first, width, out);
  const int32_t middle = first + count / 2 * width;
  Buffer both;
  Reduce(block, first, middle, both.data());
  Reduce(block, middle, last, both.data() + width);
  Evaluate(block.parts[0], both.data(), out);
}

void Evaluator::Zip(const Block& block, const int32_t* in, int32_t* out) {
  int32_t width = 0, count = in[1];
  for (size_t k = 0; k < block.parts.size(); ++k) {
    width += block.parts[k];
    if (in[2 * k + 1] != count) {
      throw std::invalid_argument("Zip: got sequences of " +
                                  std::to_string(count) + " and " +
                                  std::to_string(in[2 * k + 1]) +
                                  " items but expected as many in each");
    }
  }
  out[0] = Allocate(count * width);
  out[1] = count;
  int32_t to = out[0];
  for (int32_t i = 0; i < count; ++i) {
    for (size_t k = 0; k < block.parts.size(); ++k) {
      const int32_t item = block.parts[k];
      std::copy_n(pool_.begin() + in[2 * k] + i * item, item,
                  pool_.begin() + to);
      to += item;
    }
  }
}

void Evaluator::Reverse(const Block& block, const int32_t* in, int32_t* out) {
  const int32_t item = block.parts[0];
  const int32_t at = Allocate(in[1] * item);
  for (int32_t i = 0; i < in[1]; ++i) {
    const auto from = pool_.begin() + in[0] + (in[1] - 1 - i) * item;
    std::copy_n(from, item, pool_.begin() + at + i * item);
  }
  out[0] = at;
  out[1] = in[1];
}

void Evaluator::Broadcast(const Block& block, const int32_t* in, int32_t* out) {
  const int32_t item = block.parts[0], value = block.in_width - 2;
  const int32_t at = Allocate(in[1] * (item + value));
  out[0] = at;
  out[1] = in[1];
  for (int32_t i = 0; i < in[1]; ++i) {
    const auto to = pool_.begin() + at + i * (item + value);
    std::copy_n(pool_.begin() + in[0] + i * item, item, to);
    std::copy_n(in + 2, value, to + item);
  }
}

int32_t Evaluator::Read(int32_t column, int64_t index) const {
  const Column& read = columns_[column];
  if (index < 0 || index >= read.size) {
    throw std::invalid_argument("field " + std::to_string(column) +
                                ": got object " + std::to_string(index) +
                                " but expected one in [0, " +
                                std::to_string(read.size) + ")");
  }
  return read.data[index];
}

int32_t Evaluator::Allocate(int32_t count) {
  const int32_t at = static_cast<int32_t>(pool_.size());
  pool_.resize(at + count);
  return at;
}

void Evaluator::Load(int32_t at, int32_t width, int32_t* out) const {
  std::copy_n(pool_.begin() + at, width, out);
}

void Evaluator::Store(const int32_t* in, int32_t width, int32_t at) {
  std::copy_n(in, width, pool_.begin() + at);
}

}  // namespace fold
