// Weights in the layout of the product kernel.
#ifndef CAVS_CC_DEVICE_CPU_PACKED_WEIGHTS_H_
#define CAVS_CC_DEVICE_CPU_PACKED_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/device/bindings.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/ir/program.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

// The weights that the products of a program read. Products with the same
// weights, in the same order and both transposed or not, share one packed copy.
class Packing {
 public:
  // Weights that stand side by side: [depth, columns].
  struct Weights {
    std::vector<int> symbols;
    bool transpose;
    int64_t depth, columns;
  };

  explicit Packing(const Program& program);

  // Which weights the product that node `node` is reads, if they are worth
  // packing for it in a step with these rows; else null.
  const Weights* Of(int node, const TypeRows& rows) const;
  // Those that are packed in a step with these rows.
  std::vector<const Weights*> Packed(const TypeRows& rows) const;
  size_t Bytes(const Weights& weights, const CpuBackend& backend) const;

 private:
  const Program& program_;
  std::vector<Weights> weights_;
  std::vector<int> weights_of_;  // By node; -1: not a product.
};

// Those of one step. What is passed in must outlive it.
class PackedWeights {
 public:
  PackedWeights(const Program& program, const Packing& packing,
                const TypeRows& rows);

  // Fills `memory`, which has room for the bytes of all that are packed.
  void Pack(const Bindings& bindings, const CpuBackend& backend, void* memory);

  // What node `node` multiplies by, or null.
  const void* of(int node) const { return of_[node]; }

 private:
  const Program& program_;
  const Packing& packing_;
  const TypeRows& rows_;
  std::vector<const void*> of_;  // By node.
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_PACKED_WEIGHTS_H_
