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
// weights, in the same order and equally transposed, use one packed copy.
class Packing {
 public:
  // Weights that stand side by side, as one matrix [depth, columns].
  struct Weights {
    std::vector<int> symbols;
    bool transpose;
    int64_t depth, columns;
  };

  explicit Packing(const Program& program);

  // The weights of the product that is node `node`, or null if they are not
  // worth packing in a step with these rows.
  const Weights* Of(int node, const TypeRows& rows) const;
  // All weights that are packed in a step with these rows.
  std::vector<const Weights*> Packed(const TypeRows& rows) const;
  size_t Bytes(const Weights& weights, const CpuBackend& backend) const;

 private:
  const Program& program_;
  std::vector<Weights> weights_;
  std::vector<int> weights_of_;  // Indexed by node; -1 if it is not a product.
};

// The packed weights of one step. The constructor's arguments must outlive the
// object.
class PackedWeights {
 public:
  PackedWeights(const Program& program, const Packing& packing,
                const TypeRows& rows);

  // Fills `memory`, which must have room for all packed weights.
  void Pack(const Bindings& bindings, const CpuBackend& backend, void* memory);

  // The packed weights of node `node`, or null.
  const void* of(int node) const { return of_[node]; }

 private:
  const Program& program_;
  const Packing& packing_;
  const TypeRows& rows_;
  std::vector<const void*> of_;  // Indexed by node.
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_PACKED_WEIGHTS_H_
