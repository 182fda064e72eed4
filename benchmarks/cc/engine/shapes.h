// The operations that are pushed, each with two reads and one mutation.
#ifndef CAVS_BENCHMARKS_CC_ENGINE_SHAPES_H_
#define CAVS_BENCHMARKS_CC_ENGINE_SHAPES_H_

#include <random>
#include <string>
#include <vector>

namespace cavs::bench {

struct Operation {
  int read[2];
  int mutate;
};

struct Shape {
  std::string name;
  int variables;
  std::vector<Operation> operations;
};

// Every operation waits for the one before it.
inline Shape Chain(int count) {
  Shape shape{"chain", 3, {}};
  for (int i = 0; i < count; ++i) shape.operations.push_back({{1, 2}, 0});
  return shape;
}

// All operations read what the first has written, and none waits for another.
inline Shape FanOut(int count) {
  Shape shape{"fan_out", count + 1, {}};
  shape.operations.push_back({{count, count}, 0});
  for (int i = 1; i < count; ++i) shape.operations.push_back({{0, count}, i});
  return shape;
}

// A binary tree, from its leaves to its root.
inline Shape FanIn(int count) {
  Shape shape{"fan_in", 2 * count + 1, {}};
  for (int i = count - 1; i >= 0; --i) {
    shape.operations.push_back({{2 * i + 1, 2 * i + 2}, i});
  }
  return shape;
}

inline Shape Random(int count) {
  Shape shape{"random", 256, {}};
  std::mt19937 random(1);
  const auto any = [&] { return static_cast<int>(random() % 256); };
  for (int i = 0; i < count; ++i)
    shape.operations.push_back({{any(), any()}, any()});
  return shape;
}

inline std::vector<Shape> AllShapes(int count) {
  return {Chain(count), FanOut(count), FanIn(count), Random(count)};
}

}  // namespace cavs::bench

#endif  // CAVS_BENCHMARKS_CC_ENGINE_SHAPES_H_
