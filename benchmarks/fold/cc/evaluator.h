// Evaluates the blocks of a model on one example, and so makes the example's
// graph.

#ifndef CAVS_BENCHMARKS_PEERS_FOLD_EVALUATOR_H_
#define CAVS_BENCHMARKS_PEERS_FOLD_EVALUATOR_H_

#include <cstdint>
#include <vector>

#include "graph.h"
#include "program.h"

namespace fold {

// The fields of objects. An object is a number, and a field has an int for each
// object.
struct Column {
  const int32_t* data;
  int64_t size;
};

class Evaluator {
 public:
  Evaluator(const Program& program, const std::vector<Column>& columns,
            Graph* graph)
      : program_(program), columns_(columns), graph_(*graph) {}

  // Evaluates the model on an object. Throws std::invalid_argument if the
  // object is not one that the blocks describe.
  void Run(int32_t object);

 private:
  void Evaluate(int32_t block, const int32_t* in, int32_t* out);
  void Items(const Block& block, const int32_t* in, int32_t* out);
  void Chain(const Block& block, const int32_t* in, int32_t* out);
  void OneOf(const Block& block, const int32_t* in, int32_t* out);
  void Map(const Block& block, const int32_t* in, int32_t* out);
  void Fold(const Block& block, const int32_t* in, int32_t* out);
  void Scan(const Block& block, const int32_t* in, int32_t* out);
  void Reduce(const Block& block, int32_t first, int32_t last, int32_t* out);
  void Zip(const Block& block, const int32_t* in, int32_t* out);
  void Reverse(const Block& block, const int32_t* in, int32_t* out);
  void Broadcast(const Block& block, const int32_t* in, int32_t* out);

  int32_t Read(int32_t column, int64_t index) const;
  // Makes room for a sequence; returns where it begins.
  int32_t Allocate(int32_t count);
  void Load(int32_t at, int32_t width, int32_t* out) const;
  void Store(const int32_t* in, int32_t width, int32_t at);

  const Program& program_;
  const std::vector<Column>& columns_;
  Graph& graph_;
  std::vector<int32_t> pool_;  // The items of all sequences.
};

}  // namespace fold

#endif  // CAVS_BENCHMARKS_PEERS_FOLD_EVALUATOR_H_
