// Runs single nodes by the CPU's kernels.
#ifndef CAVS_CC_DEVICE_CPU_NODE_KERNELS_H_
#define CAVS_CC_DEVICE_CPU_NODE_KERNELS_H_

#include <vector>

#include "cc/device/bindings.h"
#include "cc/device/cpu/blocks.h"
#include "cc/device/cpu/cpu_backend.h"
#include "cc/device/cpu/packed_weights.h"
#include "cc/device/operands.h"
#include "cc/ir/compiled_program.h"

namespace cavs {

// Runs the nodes of a program that write rows, bound to one step. The
// constructor's arguments must outlive the object.
class NodeKernels {
 public:
  NodeKernels(const CompiledProgram& program, const Bindings& bindings,
              const PackedWeights& packed);

  // To be called once, when weights are bound: finds the products that are zero
  // where no row has a child.
  void FindProductsOfZeros(const CpuBackend& backend);

  // Evaluates a node for some rows, and for a range of its columns.
  void Run(int node, const RowRange& at, const ColumnRange& range,
           const CpuBackend& backend) const;

  // Whether it writes to rows that another block of rows may write to as well:
  // several parents may send gradients to one child.
  bool AddsAcrossRows(int node) const {
    return !bindings_.gathered_once &&
           program_.nodes[node].kind == NodeKind::kGatherGrad;
  }

 private:
  bool IsFinite(int weight, const CpuBackend& backend) const;
  void RunProduct(int node, const RowRange& at, const ColumnRange& range,
                  const CpuBackend& backend) const;
  // Multiplies by one weight after the other, where they are in memory.
  void MultiplyUnpacked(const Node& node, const ConstBlock& a, const Block& c,
                        const ColumnRange& range,
                        const CpuBackend& backend) const;
  void RunGroup(const Node& node, const RowRange& at, const ColumnRange& range,
                const CpuBackend& backend) const;
  void CrossSpaces(const Node& node, const RowRange& at,
                   const ColumnRange& range, const CpuBackend& backend) const;
  // Runs a node that moves rows in or out of the program.
  void MoveRows(const Node& node, const RowRange& at, const ColumnRange& range,
                const CpuBackend& backend) const;
  // Runs a copy, zeros, an elementwise operator or a sum within rows.
  void RunRows(const Node& node, const RowRange& at, const ColumnRange& range,
               const CpuBackend& backend) const;

  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  const CompiledProgram& program_;
  const Bindings& bindings_;
  const PackedWeights& packed_;
  const Operands operands_;
  std::vector<bool> is_product_of_zeros_;  // Indexed by node.
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_NODE_KERNELS_H_
