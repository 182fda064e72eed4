#include "program.h"

#include <stdexcept>

namespace fold {
namespace {

class Reader {
 public:
  explicit Reader(const std::vector<int32_t>& ints) : ints_(ints) {}

  int32_t Next() {
    if (at_ == ints_.size()) {
      throw std::invalid_argument("program: got fewer ints than expected");
    }
    return ints_[at_++];
  }

  std::vector<int32_t> List() {
    std::vector<int32_t> list(Next());
    for (int32_t& item : list) item = Next();
    return list;
  }

 private:
  const std::vector<int32_t>& ints_;
  size_t at_ = 0;
};

void NumberPieces(Program* program) {
  for (const Operation& operation : program->operations) {
    program->argument_at.emplace_back(operation.arguments.size());
    program->lookup_at.emplace_back(operation.arguments.size(), -1);
  }
  auto add = [&](int32_t segment, bool literal) {
    program->pieces.push_back({segment, literal});
    return static_cast<int32_t>(program->pieces.size()) - 1;
  };
  auto each_argument = [&](auto visit) {
    for (size_t op = 0; op < program->operations.size(); ++op) {
      const Operation& operation = program->operations[op];
      for (size_t i = 0; i < operation.arguments.size(); ++i) {
        visit(op, i, operation.arguments[i], operation.first_segment);
      }
    }
  };
  for (int32_t type = 0; type < program->num_types; ++type) {
    program->piece_splits.push_back(
        static_cast<int32_t>(program->pieces.size()));
    each_argument(
        [&](size_t op, size_t i, const Argument& argument, int32_t segment) {
          if (argument.type == type)
            program->argument_at[op][i] = add(segment, false);
        });
    program->pass_at.push_back(add(program->pass(type), false));
  }
  program->piece_splits.push_back(static_cast<int32_t>(program->pieces.size()));
  each_argument(
      [&](size_t op, size_t i, const Argument& argument, int32_t segment) {
        if (argument.looked_up) program->lookup_at[op][i] = add(segment, true);
      });
}

}  // namespace

Program::Program(const std::vector<int32_t>& ints) {
  Reader reader(ints);
  num_types = reader.Next();
  root = reader.Next();
  blocks.resize(reader.Next());
  for (Block& block : blocks) {
    block.kind = static_cast<Kind>(reader.Next());
    block.in_width = reader.Next();
    block.out_width = reader.Next();
    block.parts = reader.List();
  }
  operations.resize(reader.Next());
  for (Operation& operation : operations) {
    operation.arguments.resize(reader.Next());
    for (Argument& argument : operation.arguments) {
      argument.type = reader.Next();
      argument.looked_up = reader.Next() != 0;
    }
    operation.results = reader.List();
    operation.first_segment = static_cast<int32_t>(segments.size());
    for (int32_t type : operation.results) segments.push_back({type, false});
  }
  first_pass = static_cast<int32_t>(segments.size());
  for (int32_t type = 0; type < num_types; ++type)
    segments.push_back({type, false});
  first_source = static_cast<int32_t>(segments.size());
  for (int32_t type : reader.List()) segments.push_back({type, true});
  num_sources = static_cast<int32_t>(segments.size()) - first_source;
  tags = reader.List();
  NumberPieces(this);
}

}  // namespace fold
