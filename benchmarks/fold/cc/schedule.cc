#include "schedule.h"

#include <algorithm>
#include <utility>

namespace fold {
namespace {

// Finds where every value of a graph is, at every depth at which it is needed.
class Places {
 public:
  Places(const Program& program, Graph* graph)
      : program_(program), graph_(*graph) {
    FindLastDepths();
    PassThrough();
  }

  Ref At(int32_t value, int32_t depth) const {
    const Graph::Value& found = graph_.values[value];
    if (depth == found.depth) return found.own;
    return {program_.pass(found.type),
            ranks_[first_rank_[value] + depth - found.depth - 1]};
  }

  int32_t last(int32_t value) const { return last_[value]; }

 private:
  void FindLastDepths() {
    last_.assign(graph_.values.size(), 0);
    for (const Graph::Call& call : graph_.calls) {
      const size_t count = program_.operations[call.operation].arguments.size();
      for (size_t i = 0; i < count; ++i) {
        int32_t& last = last_[graph_.arguments[call.first_argument + i]];
        last = std::max(last, call.depth - 1);
      }
    }
    for (const std::vector<int32_t>& tagged : graph_.outputs) {
      for (int32_t value : tagged) last_[value] = graph_.depths;
    }
  }

  void PassThrough() {
    first_rank_.resize(graph_.values.size());
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Graph::Value& value = graph_.values[i];
      first_rank_[i] = static_cast<int32_t>(ranks_.size());
      for (int32_t depth = value.depth + 1; depth <= last_[i]; ++depth) {
        ranks_.push_back(graph_.count(depth, program_.pass(value.type))++);
      }
    }
  }

  const Program& program_;
  Graph& graph_;
  std::vector<int32_t> last_;
  std::vector<int32_t> first_rank_;
  std::vector<int32_t> ranks_;
};

}  // namespace

Schedule::Schedule(const Program& program, Graph graph)
    : depths(graph.depths),
      finished(program.num_types),
      outputs(program.tags.size()) {
  const Places places(program, &graph);
  const int32_t num_pieces = static_cast<int32_t>(program.pieces.size());
  std::vector<int32_t> starts((depths + 1) * num_pieces);
  int32_t size = 0;
  for (int32_t depth = 1; depth <= depths; ++depth) {
    for (int32_t piece = 0; piece < num_pieces; ++piece) {
      starts[depth * num_pieces + piece] = size;
      size += graph.count(depth, program.pieces[piece].segment);
    }
  }
  refs.resize(size);
  auto row = [&](int32_t depth, int32_t piece, int32_t rank) -> Ref& {
    return refs[starts[depth * num_pieces + piece] + rank];
  };
  for (const Graph::Call& call : graph.calls) {
    const std::vector<int32_t>& pieces = program.argument_at[call.operation];
    const std::vector<int32_t>& lookups = program.lookup_at[call.operation];
    for (size_t i = 0; i < pieces.size(); ++i) {
      const int32_t value = graph.arguments[call.first_argument + i];
      row(call.depth, pieces[i], call.rank) = places.At(value, call.depth - 1);
      if (lookups[i] < 0) continue;
      const Ref own = graph.values[value].own;
      const int32_t number =
          graph.literals[own.segment - program.first_source][own.rank];
      row(call.depth, lookups[i], call.rank) = {kLiteral, number};
    }
  }
  for (size_t i = 0; i < graph.values.size(); ++i) {
    const Graph::Value& value = graph.values[i];
    const int32_t index = static_cast<int32_t>(i);
    for (int32_t depth = value.depth + 1; depth <= places.last(index);
         ++depth) {
      const int32_t rank = places.At(index, depth).rank;
      row(depth, program.pass_at[value.type], rank) =
          places.At(index, depth - 1);
    }
  }
  std::vector<int32_t> finished_as(graph.values.size(), -1);
  for (size_t tag = 0; tag < outputs.size(); ++tag) {
    for (int32_t value : graph.outputs[tag]) {
      std::vector<Ref>& same = finished[graph.values[value].type];
      if (finished_as[value] < 0) {
        finished_as[value] = static_cast<int32_t>(same.size());
        same.push_back(places.At(value, depths));
      }
      outputs[tag].push_back(finished_as[value]);
    }
  }
  counts = std::move(graph.counts);
  literals = std::move(graph.literals);
}

}  // namespace fold
