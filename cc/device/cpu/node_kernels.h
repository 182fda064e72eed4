// Single nodes, by the CPU's kernels.
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

// The nodes of a program that write rows, bound to one step. What is passed in
// must outlive it.
class NodeKernels {
 public:
  NodeKernels(const CompiledProgram& program, const Bindings& bindings,
              const PackedWeights& packed);

  // Once weights are there: finds the products that are zero where no row has a
  // child.
  void FindProductsOfZeros(const CpuBackend& backend);

  // Evaluates a node for some rows, and for a share of its columns.
  void Run(int node, const RowRange& at, const ColumnShare& share,
           const CpuBackend& backend) const;

  // Does it write to rows that another block of rows writes to as well?
  // Rows of several parents may add to one child's.
  bool AddsAcrossRows(int node) const {
    return !bindings_.gathered_once &&
           program_.nodes[node].kind == NodeKind::kGatherGrad;
  }

 private:
  bool IsFinite(int weight, const CpuBackend& backend) const;
  void RunProduct(int node, const RowRange& at, const ColumnShare& share,
                  const CpuBackend& backend) const;
  // Weight by weight, where they are.
  void MultiplyUnpacked(const Node& node, const ConstBlock& a, const Block& c,
                        const ColumnShare& share,
                        const CpuBackend& backend) const;
  void RunGroup(const Node& node, const RowRange& at, const ColumnShare& share,
                const CpuBackend& backend) const;
  // A node that brings rows in or out.
  void PassRows(const Node& node, const RowRange& at, const ColumnShare& share,
                const CpuBackend& backend) const;
  // A copy, zeros, an elementwise operator or a sum within rows.
  void RunRows(const Node& node, const RowRange& at, const ColumnShare& share,
               const CpuBackend& backend) const;

  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  const CompiledProgram& program_;
  const Bindings& bindings_;
  const PackedWeights& packed_;
  const Operands operands_;
  std::vector<bool> is_product_of_zeros_;  // By node.
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_CPU_NODE_KERNELS_H_
