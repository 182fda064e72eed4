#include "cc/schedule/extension.h"

#include <algorithm>
#include <limits>

#include "cc/schedule/graph_batch.h"

namespace cavs {
namespace {

Status ValidateIds(const ExtensionView& view) {
  const int64_t total = view.num_states + view.num_new();
  for (int64_t vertex = 0; vertex < view.num_new(); ++vertex) {
    const int32_t first = view.child_splits[vertex];
    for (int32_t edge = first; edge < view.child_splits[vertex + 1]; ++edge) {
      const int32_t id = view.child_ids[edge];
      if (id >= -1 && id < total) continue;
      return InvalidArgument("children[", vertex, "][", edge - first, "]: got ",
                             id, " but expected -1 (no child), a row of the ",
                             view.num_states, " states, or ", view.num_states,
                             " + i for new vertex i of ", view.num_new(),
                             ". Pass the id of a child in [-1, ", total, ").");
    }
  }
  return Status();
}

Status ValidateArity(const ExtensionView& view, int arity) {
  if (arity < 0) return Status();
  for (int64_t vertex = 0; vertex < view.num_new(); ++vertex) {
    const int32_t count =
        view.child_splits[vertex + 1] - view.child_splits[vertex];
    if (count <= arity) continue;
    return InvalidArgument(
        "children[", vertex, "]: got ", count,
        " children but expected at most ", arity,
        ", the arity of the vertex function. Raise its arity, or give the "
        "vertex fewer children.");
  }
  return Status();
}

Status ValidateTypes(const ExtensionView& view, int num_types) {
  const Span<int32_t>& types = view.vertex_type;
  if (types.empty()) return Status();
  if (types.size() != view.num_new()) {
    return InvalidArgument("vertex_type: got ", types.size(),
                           " values but expected ", view.num_new(),
                           ", one per new vertex. Pass none if all are of type "
                           "0.");
  }
  for (int64_t vertex = 0; vertex < types.size(); ++vertex) {
    if (types[vertex] >= 0 && types[vertex] < num_types) continue;
    return InvalidArgument(
        "vertex_type[", vertex, "]: got ", types[vertex],
        " but expected a type with a vertex function, [0, ", num_types,
        "). Add a vertex function for it, or correct the type.");
  }
  return Status();
}

Status Validate(const ExtensionView& view, int arity, int num_types) {
  if (view.num_states < 0 ||
      view.num_states + view.num_new() >= std::numeric_limits<int32_t>::max()) {
    return InvalidArgument("states: got ", view.num_states, " rows and ",
                           view.num_new(),
                           " new vertices but expected fewer than 2**31 - 1 in "
                           "all. Drop states that are not needed any more.");
  }
  CAVS_RETURN_IF_ERROR(ValidateSplits("child_splits", view.child_splits,
                                      view.child_ids.size(), "new vertices",
                                      "child_ids"));
  CAVS_RETURN_IF_ERROR(ValidateIds(view));
  CAVS_RETURN_IF_ERROR(ValidateArity(view, arity));
  return ValidateTypes(view, num_types);
}

}  // namespace

Status MakeExtension(const ExtensionView& view, int arity, int num_types,
                     Extension* extension) {
  CAVS_RETURN_IF_ERROR(Validate(view, arity, num_types));
  std::vector<int32_t>& read = extension->read;
  read.clear();
  for (const int32_t id : view.child_ids) {
    if (id >= 0 && id < view.num_states) read.push_back(id);
  }
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());

  const auto num_new = static_cast<int32_t>(view.num_new());
  std::vector<int32_t>& ids = extension->child_ids;
  ids.assign(view.child_ids.begin(), view.child_ids.end());
  for (int32_t& id : ids) {
    if (id >= view.num_states) {
      id -= view.num_states;
    } else if (id >= 0) {
      const auto place = std::lower_bound(read.begin(), read.end(), id);
      id = num_new + static_cast<int32_t>(place - read.begin());
    }
  }
  const size_t size = num_new + read.size();
  extension->child_splits.assign(view.child_splits.begin(),
                                 view.child_splits.end());
  extension->child_splits.resize(size + 1, static_cast<int32_t>(ids.size()));
  extension->vertex_type.assign(view.vertex_type.begin(),
                                view.vertex_type.end());
  extension->vertex_type.resize(num_new, 0);
  extension->vertex_type.resize(size, num_types);
  return Status();
}

}  // namespace cavs
