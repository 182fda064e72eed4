#include "graph.h"

#include <algorithm>

namespace fold {

Graph::Graph(const Program& program)
    : literals(program.num_sources),
      outputs(program.tags.size()),
      counts(program.segments.size(), 0),
      program_(program),
      num_segments_(static_cast<int32_t>(program.segments.size())),
      shared_(program.num_sources, -1) {}

int32_t Graph::AddSource(int32_t source, int32_t number, bool shared) {
  if (shared && shared_[source] >= 0) return shared_[source];
  const int32_t segment = program_.source(source);
  const int32_t value = static_cast<int32_t>(values.size());
  values.push_back(
      {{segment, count(0, segment)++}, 0, program_.segments[segment].type});
  literals[source].push_back(number);
  shared_[source] = value;
  return value;
}

int32_t Graph::AddCall(int32_t operation, const int32_t* first) {
  const Operation& called = program_.operations[operation];
  int32_t depth = 0;
  const int32_t first_argument = static_cast<int32_t>(arguments.size());
  for (size_t i = 0; i < called.arguments.size(); ++i) {
    depth = std::max(depth, values[first[i]].depth);
    arguments.push_back(first[i]);
  }
  depth += 1;
  if (depth > depths) {
    depths = depth;
    counts.resize((depths + 1) * num_segments_, 0);
  }
  const int32_t rank = count(depth, called.first_segment);
  calls.push_back({operation, depth, rank, first_argument});
  const int32_t result = static_cast<int32_t>(values.size());
  for (size_t i = 0; i < called.results.size(); ++i) {
    const int32_t segment = called.first_segment + static_cast<int32_t>(i);
    values.push_back({{segment, rank}, depth, called.results[i]});
    count(depth, segment) += 1;
  }
  return result;
}

}  // namespace fold
