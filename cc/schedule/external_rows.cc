#include "cc/schedule/external_rows.h"

#include <utility>

namespace cavs {

RowMap AllEdges(const ScheduleView& schedule) {
  RowMap map;
  map.count = schedule.num_edges();
  map.of_edges = true;
  return map;
}

RowMap AllVertices(const ScheduleView& schedule) {
  RowMap map;
  map.count = schedule.num_vertices();
  return map;
}

RowMap VerticesOfTypes(const ScheduleView& schedule,
                       const std::vector<bool>& chosen) {
  RowMap map;
  map.row_of_vertex.assign(schedule.num_vertices(), kZeroRow);
  for (int64_t task = 0; task < schedule.num_tasks(); ++task) {
    if (!chosen[schedule.task_type[task]]) continue;
    for (int32_t row = schedule.task_splits[task];
         row < schedule.task_splits[task + 1]; ++row) {
      map.row_of_vertex[schedule.order[row]] = 0;
    }
  }
  for (int32_t& row : map.row_of_vertex) {
    if (row != kZeroRow) row = static_cast<int32_t>(map.count++);
  }
  return map;
}

Status ChosenVertices(ArgumentName name, Span<int32_t> vertices,
                      int64_t num_vertices, RowMap* map) {
  map->count = vertices.size();
  map->row_of_vertex.assign(num_vertices, kZeroRow);
  for (int64_t i = 0; i < vertices.size(); ++i) {
    const int32_t vertex = vertices[i];
    if (vertex < 0 || vertex >= num_vertices) {
      return InvalidArgument(name, "[", i, "]: got ", vertex,
                             " but expected a vertex of the minibatch, in [0, ",
                             num_vertices, ").");
    }
    int32_t& row = map->row_of_vertex[vertex];
    if (row != kZeroRow) {
      return InvalidArgument(
          name, "[", i, "]: got vertex ", vertex, ", as in ", name, "[", row,
          "], but expected every vertex once. ", "Repeat rows with tf.gather.");
    }
    row = static_cast<int32_t>(i);
  }
  return Status();
}

ExternalRows::ExternalRows(const RowMap& map,
                           const std::vector<TypeRows>& types)
    : count_(map.count), of_edges_(map.of_edges) {
  of_type_.reserve(types.size());
  for (const TypeRows& type : types) {
    of_type_.push_back(of_edges_ ? type.edge_number() : type.vertex());
    if (map.row_of_vertex.empty()) continue;
    std::vector<int32_t> own;
    own.reserve(type.size());
    for (int32_t v : type.vertex()) own.push_back(map.row_of_vertex[v]);
    own_.push_back(std::move(own));
    of_type_.back() = own_.back();
  }
}

}  // namespace cavs
