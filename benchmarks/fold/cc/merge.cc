#include <algorithm>
#include <numeric>

#include "parallel.h"
#include "schedule.h"

namespace fold {
namespace {

constexpr size_t kSectionsOfType = 6;

class Merger {
 public:
  Merger(const Program& program, const std::vector<const Schedule*>& examples)
      : program_(program),
        examples_(examples),
        num_segments_(static_cast<int32_t>(program.segments.size())),
        num_pieces_(static_cast<int32_t>(program.pieces.size())) {
    for (const Schedule* example : examples)
      depths_ = std::max(depths_, example->depths);
    CountRows();
    FindRows();
    LayOut();
  }

  Wiring Run(int threads) {
    ParallelFor(examples_.size(), threads,
                [this](size_t example) { Fill(example); });
    FillLiteralsAndOutputs();
    FillTakers();
    return std::move(wiring_);
  }

 private:
  size_t At(int32_t depth, int32_t segment) const {
    return depth * num_segments_ + segment;
  }
  int32_t* RowsBefore(size_t example) {
    return &rows_before_[example * total_.size()];
  }

  // The rows of every segment at every depth: those of the examples before each
  // example, and the totals. What an example has finished stays until the
  // deepest example is done.
  void CountRows() {
    total_.assign((depths_ + 1) * num_segments_, 0);
    rows_before_.resize(examples_.size() * total_.size());
    for (size_t i = 0; i < examples_.size(); ++i) {
      const Schedule& example = *examples_[i];
      std::copy(total_.begin(), total_.end(), RowsBefore(i));
      for (size_t k = 0; k < example.counts.size(); ++k)
        total_[k] += example.counts[k];
      for (int32_t depth = example.depths + 1; depth <= depths_; ++depth) {
        for (int32_t type = 0; type < program_.num_types; ++type) {
          total_[At(depth, program_.pass(type))] +=
              static_cast<int32_t>(example.finished[type].size());
        }
      }
    }
  }

  // Converts rows of segments to rows of all values of a type.
  void FindRows() {
    std::vector<int32_t> first(total_.size());
    for (int32_t depth = 0; depth <= depths_; ++depth) {
      std::vector<int32_t> used(program_.num_types, 0);
      for (int32_t segment = 0; segment < num_segments_; ++segment) {
        int32_t& next = used[program_.segments[segment].type];
        first[At(depth, segment)] = next;
        next += total_[At(depth, segment)];
      }
    }
    row_.resize(rows_before_.size());
    for (size_t i = 0; i < row_.size(); ++i)
      row_[i] = first[i % first.size()] + rows_before_[i];
  }

  void AddSection(int32_t length) {
    section_at_.push_back(wiring_.ints.size());
    wiring_.sections.push_back(length);
    wiring_.ints.resize(wiring_.ints.size() + length);
  }

  int32_t* Section(size_t number) {
    return wiring_.ints.data() + section_at_[number];
  }

  int32_t Rows(int32_t depth, int32_t piece) const {
    return total_[At(depth, program_.pieces[piece].segment)];
  }

  void AddSection(const std::vector<int32_t>& ints) {
    AddSection(static_cast<int32_t>(ints.size()));
    std::copy(ints.begin(), ints.end(), wiring_.ints.end() - ints.size());
  }

  // Writes the wiring of a type, and the length of each of its pieces at every
  // depth.
  void AddTaken(int32_t type) {
    const std::vector<int32_t>& splits = program_.piece_splits;
    std::vector<int32_t> lengths, sizes;
    const int32_t begin = static_cast<int32_t>(wiring_.ints.size());
    int32_t at = begin;
    for (int32_t depth = 1; depth <= depths_; ++depth) {
      const int32_t start = at;
      for (int32_t piece = splits[type]; piece < splits[type + 1]; ++piece) {
        start_[depth * num_pieces_ + piece] = at;
        sizes.push_back(Rows(depth, piece));
        at += sizes.back();
      }
      lengths.push_back(at - start);
    }
    AddSection(at - begin);
    AddSection(lengths);
    AddSection(sizes);
  }

  // Makes room for the takers of each row of a type, and for the number of rows
  // of every result.
  void AddMade(int32_t type) {
    std::vector<int32_t> lengths, sizes;
    for (int32_t depth = 0; depth <= depths_; ++depth) {
      int32_t rows = 0;
      for (int32_t segment = 0; segment < num_segments_; ++segment) {
        if (program_.segments[segment].type != type) continue;
        rows += total_[At(depth, segment)];
        if (depth > 0 && !program_.segments[segment].at_depth_0)
          sizes.push_back(total_[At(depth, segment)]);
      }
      lengths.push_back(rows);
    }
    lengths.pop_back();  // Nothing takes from the last depth.
    AddSection(std::accumulate(lengths.begin(), lengths.end(), 0));
    AddSection(lengths);
    AddSection(sizes);
  }

  // From the last depth to the first, because the loop takes them from the end.
  void AddLookup(int32_t piece) {
    std::vector<int32_t> lengths;
    int32_t at = static_cast<int32_t>(wiring_.ints.size());
    for (int32_t depth = depths_; depth > 0; --depth) {
      start_[depth * num_pieces_ + piece] = at;
      lengths.push_back(Rows(depth, piece));
      at += lengths.back();
    }
    AddSection(at - static_cast<int32_t>(wiring_.ints.size()));
    AddSection(lengths);
  }

  void LayOut() {
    start_.resize((depths_ + 1) * num_pieces_);
    for (int32_t type = 0; type < program_.num_types; ++type) {
      AddTaken(type);
      AddMade(type);
    }
    for (int32_t piece = program_.piece_splits.back(); piece < num_pieces_;
         ++piece) {
      AddLookup(piece);
    }
    auto add = [this](auto list_of, size_t count) {
      for (size_t k = 0; k < count; ++k) {
        size_t length = 0;
        for (const Schedule* example : examples_)
          length += list_of(*example)[k].size();
        AddSection(static_cast<int32_t>(length));
      }
    };
    literals_from_ = wiring_.sections.size();
    add([](const Schedule& s) -> auto& { return s.literals; },
        program_.num_sources);
    add([](const Schedule& s) -> auto& { return s.outputs; },
        program_.tags.size());
  }

  void Fill(size_t number) {
    const Schedule& example = *examples_[number];
    const int32_t* rows = &row_[number * total_.size()];
    const int32_t* before = RowsBefore(number);
    const Ref* ref = example.refs.data();
    for (int32_t depth = 1; depth <= depths_; ++depth) {
      const int32_t* base = rows + At(depth - 1, 0);
      auto to = [&](int32_t piece) {
        const int32_t segment = program_.pieces[piece].segment;
        return &wiring_.ints[start_[depth * num_pieces_ + piece] +
                             before[At(depth, segment)]];
      };
      if (depth > example.depths) {
        for (int32_t type = 0; type < program_.num_types; ++type) {
          int32_t* out = to(program_.pass_at[type]);
          for (size_t k = 0; k < example.finished[type].size(); ++k) {
            const Ref finished = Finished(example, type, k, depth - 1);
            *out++ = base[finished.segment] + finished.rank;
          }
        }
        continue;
      }
      for (int32_t piece = 0; piece < num_pieces_; ++piece) {
        const Piece& filled = program_.pieces[piece];
        const Ref* end = ref + example.counts[At(depth, filled.segment)];
        int32_t* out = to(piece);
        if (filled.literal) {
          for (; ref != end; ++ref) *out++ = ref->rank;
        } else {
          for (; ref != end; ++ref) *out++ = base[ref->segment] + ref->rank;
        }
      }
    }
  }

  // Inverts the wiring: for every row its place among the rows taken, or the
  // number of these if nothing takes the row.
  void FillTakers() {
    std::vector<int32_t> shared;
    for (int32_t type = 0; type < program_.num_types; ++type) {
      const size_t section = kSectionsOfType * type;
      const int32_t* taken = Section(section);
      const int32_t* num_taken = Section(section + 1);
      int32_t* takers = Section(section + 3);
      const int32_t* num_rows = Section(section + 4);
      bool twice = false;
      for (int32_t depth = 0; depth < depths_; ++depth) {
        const int32_t count = num_taken[depth];
        std::fill_n(takers, num_rows[depth], count);
        for (int32_t i = 0; i < count; ++i) {
          int32_t& taker = takers[taken[i]];
          twice |= taker != count;
          taker = i;
        }
        taken += count;
        takers += num_rows[depth];
      }
      shared.push_back(twice);
    }
    AddSection(shared);
  }

  Ref Finished(const Schedule& example, int32_t type, size_t k,
               int32_t depth) const {
    if (depth == example.depths) return example.finished[type][k];
    return {program_.pass(type), static_cast<int32_t>(k)};
  }

  void FillLiteralsAndOutputs() {
    for (int32_t source = 0; source < program_.num_sources; ++source) {
      int32_t* out = Section(literals_from_ + source);
      for (const Schedule* example : examples_) {
        out = std::copy(example->literals[source].begin(),
                        example->literals[source].end(), out);
      }
    }
    for (size_t tag = 0; tag < program_.tags.size(); ++tag) {
      int32_t* out = Section(literals_from_ + program_.num_sources + tag);
      for (size_t i = 0; i < examples_.size(); ++i) {
        const int32_t* base = &row_[i * total_.size() + At(depths_, 0)];
        for (int32_t k : examples_[i]->outputs[tag]) {
          const Ref ref =
              Finished(*examples_[i], program_.tags[tag], k, depths_);
          *out++ = base[ref.segment] + ref.rank;
        }
      }
    }
  }

  const Program& program_;
  const std::vector<const Schedule*>& examples_;
  const int32_t num_segments_;
  const int32_t num_pieces_;
  int32_t depths_ = 0;
  std::vector<int32_t> total_;        // [depths + 1, segments]
  std::vector<int32_t> rows_before_;  // [examples, depths + 1, segments]
  std::vector<int32_t>
      row_;  // [examples, depths + 1, segments]: of a type's values.
  std::vector<int32_t>
      start_;  // [depths + 1, pieces]: in the ints of the wiring.
  std::vector<size_t> section_at_;
  size_t literals_from_ = 0;
  Wiring wiring_;
};

}  // namespace

Wiring Merge(const Program& program,
             const std::vector<const Schedule*>& examples, int threads) {
  return Merger(program, examples).Run(threads);
}

}  // namespace fold
