#include "core/pack/HostCopy.h"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

using namespace etc::runtime;

constexpr uint64_t kLine = 64;
/// How far ahead lines are asked for: with less, memory answers too late.
constexpr uint64_t kAhead = 2048;
/// Lines that are read before one of them is written: as many as registers
/// hold.
constexpr uint64_t kAtOnce = 4;

/// Bytes before the next line begins.
static uint64_t headOf(const std::byte *data) {
  return -reinterpret_cast<uint64_t>(data) % kLine;
}

#ifdef __SSE2__
static void askFor(const std::byte *data) {
  _mm_prefetch(reinterpret_cast<const char *>(data), _MM_HINT_T0);
}
/// `to` is the beginning of a line.
template <uint64_t lines>
static void streamLines(std::byte *to, const std::byte *from, uint64_t ahead) {
  constexpr uint64_t count = lines * kLine / sizeof(__m128i);
  for (uint64_t i = 0; i != lines; ++i)
    askFor(from + ahead + i * kLine);
  __m128i words[count];
  for (uint64_t i = 0; i != count; ++i)
    words[i] = _mm_loadu_si128(reinterpret_cast<const __m128i *>(from) + i);
  for (uint64_t i = 0; i != count; ++i)
    _mm_stream_si128(reinterpret_cast<__m128i *>(to) + i, words[i]);
}
static void finishStreams() { _mm_sfence(); }
#else
template <uint64_t lines>
static void streamLines(std::byte *to, const std::byte *from, uint64_t) {
  std::memcpy(to, from, lines * kLine);
}
static void finishStreams() {}
static void askFor(const std::byte *) {}
#endif

void etc::runtime::copyAhead(std::byte *to, const std::byte *from,
                             uint64_t bytes, uint64_t ahead) {
  const uint64_t lines = bytes / kLine * kLine;
  for (uint64_t at = 0; at != lines; at += kLine) {
    askFor(from + at + ahead);
    std::memcpy(to + at, from + at, kLine);
  }
  std::memcpy(to + lines, from + lines, bytes - lines);
}

StreamingCopy::StreamingCopy(uint64_t runBytes)
    : runBytes(runBytes), runsAhead((kAhead + runBytes - 1) / runBytes) {}

StreamingCopy::~StreamingCopy() { finishStreams(); }

void StreamingCopy::add(std::byte *to, const std::byte *from) {
  // The next runs are probably as far from this one as it is from the last.
  const uint64_t stride = last && from > last ? from - last : runBytes;
  last = from;
  const uint64_t ahead = runBytes > kAhead ? kAhead : runsAhead * stride;
  // What is no whole line at the ends of a run is copied as usual.
  uint64_t at = std::min(headOf(to), runBytes);
  std::memcpy(to, from, at);
  for (; runBytes - at >= kAtOnce * kLine; at += kAtOnce * kLine)
    streamLines<kAtOnce>(to + at, from + at, ahead);
  for (; runBytes - at >= kLine; at += kLine)
    streamLines<1>(to + at, from + at, ahead);
  std::memcpy(to + at, from + at, runBytes - at);
}
