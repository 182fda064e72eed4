// A program on the reference device, for one step.
#ifndef CAVS_CC_DEVICE_REFERENCE_REFERENCE_PROGRAM_H_
#define CAVS_CC_DEVICE_REFERENCE_REFERENCE_PROGRAM_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "cc/device/device.h"
#include "cc/device/operands.h"

namespace cavs {

// The constructor's arguments must outlive the object.
class ReferenceProgram : public BoundProgram {
 public:
  ReferenceProgram(const CompiledProgram& program, Bindings* bindings)
      : program_(program),
        bindings_(*bindings),
        operands_(program, *bindings) {}

  Status Prepare(Stream* stream) override;
  Status Run(Stage stage, const RowRange& rows, Stream* stream) override;
  Status FinishSums(Stream* stream) override;

 private:
  // One row of numbers, or all numbers of a value without rows.
  using Numbers = std::vector<double>;
  // The values of a group's members that are not stored in memory: by root,
  // first column and number of columns.
  using Inner = std::map<std::tuple<int, int64_t, int64_t>, Numbers>;

  void RunNode(const Node& node, const RowRange& at);
  void MoveRow(const Node& node, const RowRange& at, int64_t row);
  void AddRow(const Node& node, const RowRange& at, int64_t row);
  void ComputeRow(const Node& node, const RowRange& at, int64_t row);
  void RunGroup(const Node& group, const RowRange& at, int64_t row);

  Numbers MatMul(const Node& node, const RowRange& at, int64_t row) const;
  Numbers ReduceEdges(const Node& node, const RowRange& at, int64_t row) const;

  // Row number `row`, counted from the first row of the range. A value without
  // rows is the same for every row.
  Numbers Read(int id, const RowRange& at, int64_t row) const;
  void Write(int id, const RowRange& at, int64_t row, const Numbers& numbers);
  Inner::key_type Elements(int id) const;

  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  const CompiledProgram& program_;
  Bindings& bindings_;
  const Operands operands_;
};

}  // namespace cavs

#endif  // CAVS_CC_DEVICE_REFERENCE_REFERENCE_PROGRAM_H_
