// Views that passes add to a program.
#ifndef CAVS_CC_IR_PASSES_VIEWS_H_
#define CAVS_CC_IR_PASSES_VIEWS_H_

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "cc/ir/program.h"
#include "cc/ir/uses.h"

namespace cavs {

// Makes views of symbols. Equal ones that it has made are one symbol.
class Views {
 public:
  // Both must outlive the object. `uses` is told of new symbols.
  Views(Program* program, Uses* uses) : program_(*program), uses_(*uses) {}

  // Columns [begin, end) of rows, or elements of a vector.
  int Columns(int whole, int64_t begin, int64_t end) {
    if (begin == 0 && end == symbol(whole).columns()) return whole;
    return View(whole, begin, {end - begin});
  }

  // Adjacent elements, from `begin`.
  int Elements(int whole, int64_t begin, std::vector<int64_t> shape) {
    return View(whole, begin, std::move(shape));
  }

  // The part of a product's weight that gives columns [begin, end) of the
  // result.
  int WeightsOf(const Node& product, int64_t begin, int64_t end) {
    return product.transpose ? MatrixRows(product.inputs[1], begin, end)
                             : MatrixColumns(product.inputs[1], begin, end);
  }

  // The part that columns [begin, end) of the operand are multiplied by.
  int FactorOf(const Node& product, int64_t begin, int64_t end) {
    return product.transpose ? MatrixColumns(product.inputs[1], begin, end)
                             : MatrixRows(product.inputs[1], begin, end);
  }

 private:
  const Symbol& symbol(int id) const { return program_.symbols[id]; }

  int MatrixRows(int matrix, int64_t begin, int64_t end) {
    const Symbol& s = symbol(matrix);
    if (begin == 0 && end == s.shape[0]) return matrix;
    return View(matrix, begin * s.row_pitch(), {end - begin, s.shape[1]},
                s.pitch);
  }

  int MatrixColumns(int matrix, int64_t begin, int64_t end) {
    const Symbol& s = symbol(matrix);
    if (begin == 0 && end == s.shape[1]) return matrix;
    return View(matrix, begin, {s.shape[0], end - begin}, s.row_pitch());
  }

  int View(int whole, int64_t offset, std::vector<int64_t> shape,
           int64_t pitch = 0) {
    int64_t begin;
    const int root = program_.Root(whole, &begin);
    const auto [known, is_new] =
        views_.emplace(std::make_tuple(root, begin + offset, pitch, shape), -1);
    if (!is_new) return known->second;
    Symbol view = symbol(whole);
    view.source = SymbolSource::kNode;
    view.index = -1;
    view.constant = nullptr;
    view.parent = root;
    view.offset = begin + offset;
    view.shape = std::move(shape);
    view.pitch = pitch;
    program_.symbols.push_back(std::move(view));
    const int id = static_cast<int>(program_.symbols.size()) - 1;
    uses_.Update(id);
    return known->second = id;
  }

  Program& program_;
  Uses& uses_;
  // By root, offset in it, pitch and shape.
  std::map<std::tuple<int, int64_t, int64_t, std::vector<int64_t>>, int> views_;
};

}  // namespace cavs

#endif  // CAVS_CC_IR_PASSES_VIEWS_H_
