#include "cc/exec/guarded_outputs.h"

#include <cstring>
#include <functional>

#include "cc/base/byte_count.h"

namespace cavs {

GuardedOutputs::GuardedOutputs(const Model& model, StoragePool* pool,
                               Guards* guards, RunArguments* arguments)
    : pool_(pool), guards_(guards) {
  if (guards_ == nullptr) return;
  std::vector<Block>& outputs = arguments->outputs;
  std::vector<bool> done(outputs.size(), false);
  for (const Program& program : model.programs) {
    for (const Node& node : program.nodes) {
      const bool push = node.kind == NodeKind::kPush;
      if (!push && node.kind != NodeKind::kPullGrad) continue;
      if (done[node.index]) continue;
      done[node.index] = true;
      Block& block = outputs[node.index];
      const DType dtype = program.symbols[node.inputs[0]].dtype;
      block.data =
          Replace(block.data, ByteCount(block.rows, block.pitch, dtype),
                  StrCat(push ? "push " : "the gradient of pull ", node.index));
    }
  }
  for (size_t type = 0; type < arguments->results.size(); ++type) {
    const Program& program = model.programs[type];
    std::vector<void*>& results = arguments->results[type];
    if (model.is_variant(static_cast<int>(type))) {
      for (void*& part : results) part = Translate(part);
      continue;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const Symbol& symbol = program.symbols[program.results[i]];
      results[i] =
          Replace(results[i], ByteCount(1, symbol.columns(), symbol.dtype),
                  StrCat("the gradient of capture ", i));
    }
  }
}

// Memory must return to the pool without zones.
GuardedOutputs::~GuardedOutputs() {
  if (guards_ != nullptr) guards_->KeepFirst(0);
}

void* GuardedOutputs::Replace(void* given, size_t bytes,
                              const std::string& name) {
  const size_t size = Memory::Padded(bytes) + 2 * Guards::kZone;
  std::shared_ptr<void> memory = pool_->Acquire(size + Guards::kMargin);
  if (memory == nullptr) return given;
  char* begin = static_cast<char*>(memory.get());
  char* data = begin + Guards::kZone;
  guards_->Add(begin, data, StrCat("the zone before ", name));
  guards_->Add(data + bytes, begin + size, name);
  if (bytes > 0) std::memcpy(data, given, bytes);
  copies_.push_back({given, data, bytes, std::move(memory)});
  return data;
}

void* GuardedOutputs::Translate(void* given) const {
  const std::less<const char*> less;
  const char* const address = static_cast<const char*>(given);
  for (const Copy& copy : copies_) {
    const char* const begin = static_cast<const char*>(copy.given);
    if (less(address, begin) || !less(address, begin + copy.bytes)) continue;
    return static_cast<char*>(copy.data) + (address - begin);
  }
  return given;
}

void GuardedOutputs::CopyBack() const {
  for (const Copy& copy : copies_) {
    if (copy.bytes > 0) std::memcpy(copy.given, copy.data, copy.bytes);
  }
}

}  // namespace cavs
