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
  // A product as far as it decides whether its weights are packed.
  struct Product {
    int node;
    bool of_edges, critical;
  };
  // Weights that stand side by side, as one matrix of `columns` columns.
  struct Weights {
    std::vector<int> symbols;
    bool transpose;
    int64_t columns;
    size_t bytes;  // Of the packed copy.
    std::vector<Product> products;
  };

  Packing(const Program& program, const CpuBackend& backend);

  const std::vector<Weights>& weights() const { return weights_; }
  // Whether a product is to read a packed copy of its weights in a step with
  // these rows.
  static bool IsWorthPacking(const Weights& weights, const Product& product,
                             const TypeRows& rows);
  // Whether some product of the weights is.
  static bool ArePacked(const Weights& weights, const TypeRows& rows);
  // The bytes of all copies in a step with these rows.
  size_t Bytes(const TypeRows& rows) const;

 private:
  std::vector<Weights> weights_;
};

// The packed weights of one step. The constructor's arguments must outlive the
// object.
class PackedWeights {
 public:
  PackedWeights(const Program& program, const Packing& packing)
      : program_(program),
        packing_(packing),
        of_(program.nodes.size(), nullptr) {}

  // Fills `memory`, which must have room for all packed weights.
  void Pack(const Bindings& bindings, const CpuBackend& backend, void* memory);

  // The packed weights of node `node`, or null.
  const void* of(int node) const { return of_[node]; }

 private:
  const Program& program_;
  const Packing& packing_;
  std::vector<const void*> of_;  // Indexed by node.
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_PACKED_WEIGHTS_H_
