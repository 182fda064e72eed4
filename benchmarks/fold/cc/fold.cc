// The interface that weaver.py loads: it takes examples and returns wiring.
//
// Calls that fail return null; fold_error() then returns the reason, in the
// same thread.

#include <memory>
#include <string>
#include <vector>

#include "evaluator.h"
#include "parallel.h"
#include "program.h"
#include "schedule.h"

namespace fold {
namespace {

using Examples = std::vector<std::unique_ptr<const Schedule>>;

thread_local std::string error;

template <typename Body>
auto Try(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& caught) {
    error = caught.what();
    return nullptr;
  }
}

}  // namespace
}  // namespace fold

extern "C" {

const char* fold_error() { return fold::error.c_str(); }

fold::Program* fold_program_new(const int32_t* ints, int64_t size) {
  return fold::Try([&] { return new fold::Program({ints, ints + size}); });
}

void fold_program_delete(fold::Program* program) { delete program; }

// Makes a schedule for each root.
fold::Examples* fold_weave(const fold::Program* program,
                           const fold::Column* columns, int64_t num_columns,
                           const int32_t* roots, int64_t num_roots,
                           int threads) {
  return fold::Try([&] {
    const std::vector<fold::Column> fields(columns, columns + num_columns);
    auto examples = std::make_unique<fold::Examples>(num_roots);
    fold::ParallelFor(num_roots, threads, [&](size_t i) {
      fold::Graph graph(*program);
      fold::Evaluator(*program, fields, &graph).Run(roots[i]);
      (*examples)[i] =
          std::make_unique<fold::Schedule>(*program, std::move(graph));
    });
    return examples.release();
  });
}

void fold_examples_delete(fold::Examples* examples) { delete examples; }

// Makes the wiring of a minibatch of all examples of all lists.
fold::Wiring* fold_merge(const fold::Program* program,
                         fold::Examples* const* lists, int64_t num_lists,
                         int threads) {
  return fold::Try([&] {
    std::vector<const fold::Schedule*> examples;
    for (int64_t i = 0; i < num_lists; ++i) {
      for (const auto& example : *lists[i]) examples.push_back(example.get());
    }
    return new fold::Wiring(fold::Merge(*program, examples, threads));
  });
}

const int32_t* fold_wiring_ints(const fold::Wiring* wiring) {
  return wiring->ints.data();
}
int64_t fold_wiring_size(const fold::Wiring* wiring) {
  return wiring->ints.size();
}
const int32_t* fold_wiring_sections(const fold::Wiring* wiring) {
  return wiring->sections.data();
}
int64_t fold_wiring_num_sections(const fold::Wiring* wiring) {
  return wiring->sections.size();
}
void fold_wiring_delete(fold::Wiring* wiring) { delete wiring; }

}  // extern "C"
