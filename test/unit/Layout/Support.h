//===- Support.h - Shared by the tests of layouts ---------------*- C++ -*-===//

#ifndef ETC_TEST_UNIT_LAYOUT_SUPPORT_H
#define ETC_TEST_UNIT_LAYOUT_SUPPORT_H

#include "etc/Layout/Layout.h"
#include "etc/Request/Presets.h"

#include "gtest/gtest.h"

namespace etc::layout {

/// A model small enough to work out by hand: 4 layers, hidden 8, 4 heads, ffn
/// 16, 300 words, 6 positions.
inline request::ModelSpec smallSpec(bool tied = true) {
  request::ModelSpec spec;
  spec.layers = 4;
  spec.hidden = 8;
  spec.heads = 4;
  spec.ffn = 16;
  spec.vocab = 300;
  spec.seq = 6;
  spec.tiedEmbeddings = tied;
  return spec;
}

inline model::Model smallModel(bool tied = true) {
  return model::buildModel(smallSpec(tied), request::Request().types);
}

/// Calls f(role) for every role of a configuration.
template <typename F>
void forEachRole(const request::Parallelism &parallel, F f) {
  for (int64_t p = 0; p < parallel.pp; ++p)
    for (int64_t t = 0; t < parallel.slots(); ++t)
      f(Role{p, t});
}

} // namespace etc::layout

#endif // ETC_TEST_UNIT_LAYOUT_SUPPORT_H
