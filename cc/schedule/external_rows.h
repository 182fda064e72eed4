// Maps vertices and edges to the rows of external inputs and outputs.
#ifndef CAVS_CC_SCHEDULE_EXTERNAL_ROWS_H_
#define CAVS_CC_SCHEDULE_EXTERNAL_ROWS_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/schedule/schedule.h"
#include "cc/schedule/type_rows.h"

namespace cavs {

// A RowMap says which row of an external input or output belongs to each
// vertex. kZeroRow means that the vertex has no row: zeros are read for it, and
// nothing is written.
struct RowMap {
  int64_t count = 0;                   // Number of rows.
  std::vector<int32_t> row_of_vertex;  // Empty: vertex v has row v.
  bool of_edges = false;  // There is a row per edge, and edge e has row e.
};

// Returns a map with one row per edge.
RowMap AllEdges(const ScheduleView& schedule);

// Returns a map with one row per vertex.
RowMap AllVertices(const ScheduleView& schedule);

// Returns a map with one row per vertex of the chosen types, in vertex order.
RowMap VerticesOfTypes(const ScheduleView& schedule,
                       const std::vector<bool>& chosen);

// Makes a map in which vertices[i] has row i. Returns kInvalidArgument, naming
// `name` and the index, if a vertex is not in [0, num_vertices) or occurs
// twice.
Status ChosenVertices(ArgumentName name, Span<int32_t> vertices,
                      int64_t num_vertices, RowMap* map);

// ExternalRows tells each program which rows of an external input or output
// belong to its rows or edges. Programs number their vertices as TypeRows does.
// An object never changes after it is made.
class ExternalRows {
 public:
  ExternalRows() = default;
  // `types` must outlive the object.
  ExternalRows(const RowMap& map, const std::vector<TypeRows>& types);
  ExternalRows(const ExternalRows&) = delete;
  ExternalRows(ExternalRows&&) = default;
  ExternalRows& operator=(ExternalRows&&) = default;

  int64_t count() const { return count_; }
  int num_programs() const { return static_cast<int>(of_type_.size()); }
  // Returns whether every vertex v, or every edge e, has the row of that
  // number.
  bool all() const { return own_.empty(); }
  bool of_edges() const { return of_edges_; }
  // Returns the external row of each row, or of each edge, of program `type`.
  Span<int32_t> of_type(int type) const { return of_type_[type]; }

 private:
  int64_t count_ = 0;
  bool of_edges_ = false;
  std::vector<std::vector<int32_t>> own_;  // Empty if vertex v has row v.
  std::vector<Span<int32_t>> of_type_;
};

}  // namespace cavs

#endif  // CAVS_CC_SCHEDULE_EXTERNAL_ROWS_H_
