#include "cc/ir/uses.h"

#include <algorithm>

namespace cavs {
namespace {

void Insert(int node, std::vector<int>* nodes) {
  nodes->insert(std::upper_bound(nodes->begin(), nodes->end(), node), node);
}

void Erase(int node, std::vector<int>* nodes) {
  nodes->erase(std::lower_bound(nodes->begin(), nodes->end(), node));
}

std::vector<int> Union(const std::vector<int>& symbols,
                       const std::vector<std::vector<int>>& nodes_of) {
  std::vector<int> all;
  for (int id : symbols) {
    all.insert(all.end(), nodes_of[id].begin(), nodes_of[id].end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

Uses::Uses(const Program& program)
    : program_(program),
      overlaps_(program),
      is_result_(program.symbols.size(), false),
      readers_(program.symbols.size()),
      writers_(program.symbols.size()) {
  for (int id : program.results) is_result_[id] = true;
  for (size_t i = 0; i < program.nodes.size(); ++i) Add(static_cast<int>(i));
}

std::vector<int> Uses::ReadersOfAny(int symbol) const {
  return Union(overlaps_.of(symbol), readers_);
}

std::vector<int> Uses::WritersOfAny(int symbol) const {
  return Union(overlaps_.of(symbol), writers_);
}

void Uses::Forget(int node) {
  for (int id : program_.nodes[node].inputs) Erase(node, &readers_[id]);
  for (int id : program_.nodes[node].outputs) Erase(node, &writers_[id]);
}

void Uses::Add(int node) {
  for (int id : program_.nodes[node].inputs) Insert(node, &readers_[id]);
  for (int id : program_.nodes[node].outputs) Insert(node, &writers_[id]);
}

void Uses::Update(int symbol) {
  overlaps_.Update(symbol);
  is_result_.resize(program_.symbols.size(), false);
  readers_.resize(program_.symbols.size());
  writers_.resize(program_.symbols.size());
}

}  // namespace cavs
