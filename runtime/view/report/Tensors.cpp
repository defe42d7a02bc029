#include "view/report/Tensors.h"

#include <algorithm>
#include <map>

using namespace etc::runtime;
using etc::plan::PlanIndex;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

constexpr size_t kMostRows = 200;

/// What its row is called: layers and experts are in one.
static std::string rowNameOf(const PlanIndex &index,
                             const etc::plan::fb::Tensor &tensor) {
  return tensor.pattern() < 0
             ? tensor.name()->str()
             : index.plan().patterns()->Get(tensor.pattern())->str();
}

static uint64_t *volumeOf(TensorVolumes &row, OpKind kind) {
  switch (kind) {
  case OpKind::recv:
    return &row.moved;
  case OpKind::refer:
    return &row.kept;
  case OpKind::derive:
    return &row.derived;
  case OpKind::zero:
    return &row.zeroed;
  default:
    return nullptr;
  }
}

static void merge(TensorVolumes &into, const TensorVolumes &row) {
  into.moved += row.moved;
  into.kept += row.kept;
  into.derived += row.derived;
  into.zeroed += row.zeroed;
}

static void limitRows(std::vector<TensorVolumes> &rows) {
  if (rows.size() <= kMostRows)
    return;
  std::map<std::string, TensorVolumes> others;
  for (size_t i = kMostRows; i != rows.size(); ++i)
    merge(
        others
            .try_emplace(rows[i].type, TensorVolumes{"(others)", rows[i].type})
            .first->second,
        rows[i]);
  rows.resize(kMostRows);
  for (const auto &[type, row] : others)
    rows.push_back(row);
}

std::vector<TensorVolumes> etc::runtime::tensorVolumes(const PlanIndex &index) {
  std::map<std::pair<std::string, std::string>, size_t> numbers;
  std::vector<size_t> rowOf;
  std::vector<TensorVolumes> rows;
  for (const auto *tensor : *index.plan().tensors()) {
    std::string name = rowNameOf(index, *tensor);
    std::string type = tensor->type()->str();
    auto [it, isNew] = numbers.try_emplace({name, type}, rows.size());
    if (isNew)
      rows.push_back({name, type});
    rowOf.push_back(it->second);
  }
  for (uint32_t p = 0; p != index.programCount(); ++p) {
    const uint64_t devices = index.program(p).devices()->size();
    for (const auto *round : *index.program(p).rounds())
      for (const Op *op : *round->ops())
        if (uint64_t *volume =
                op->transit() // counted where it stays
                    ? nullptr
                    : volumeOf(rows[rowOf[op->tensor()]], op->kind()))
          *volume += devices * index.opBytes(*op);
  }
  std::erase_if(rows, [](const TensorVolumes &row) { return row.all() == 0; });
  std::stable_sort(rows.begin(), rows.end(),
                   [](const TensorVolumes &a, const TensorVolumes &b) {
                     return a.all() > b.all();
                   });
  limitRows(rows);
  return rows;
}
