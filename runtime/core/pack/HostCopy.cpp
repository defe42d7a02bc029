#include "core/pack/HostCopy.h"

#include <algorithm>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

using namespace etc::runtime;

constexpr uint64_t kLine = 64, kPage = 4096;
/// How far ahead of a stream its lines are asked for.
constexpr uint64_t kAhead = 256;

/// Bytes before the next line begins.
static uint64_t headOf(const std::byte *data) {
  return -reinterpret_cast<uint64_t>(data) % kLine;
}

#ifdef __SSE2__
static void askFor(const std::byte *data) {
  _mm_prefetch(reinterpret_cast<const char *>(data), _MM_HINT_T0);
}
/// `to` is the beginning of a line.
static void streamLine(std::byte *to, const std::byte *from) {
  askFor(from + kAhead);
  __m128i words[4];
  for (int i = 0; i != 4; ++i)
    words[i] =
        _mm_loadu_si128(reinterpret_cast<const __m128i *>(from + 16 * i));
  for (int i = 0; i != 4; ++i)
    _mm_stream_si128(reinterpret_cast<__m128i *>(to + 16 * i), words[i]);
}
static void finishStreams() { _mm_sfence(); }
#else
static void streamLine(std::byte *to, const std::byte *from) {
  std::memcpy(to, from, kLine);
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

/// Whole lines of several runs, a line of each in turn.
template <size_t count>
static void streamLines(const std::array<std::byte *, count> &to,
                        const std::array<const std::byte *, count> &from,
                        uint64_t bytes) {
  for (uint64_t at = 0; at != bytes; at += kLine)
    for (size_t i = 0; i != count; ++i)
      streamLine(to[i] + at, from[i] + at);
}

/// A run by itself: what is no whole line at its ends is copied as usual.
static void streamRun(std::byte *to, const std::byte *from, uint64_t bytes) {
  const uint64_t head = std::min(headOf(to), bytes);
  const uint64_t lines = (bytes - head) / kLine * kLine;
  std::memcpy(to, from, head);
  streamLines<1>({to + head}, {from + head}, lines);
  const uint64_t done = head + lines;
  std::memcpy(to + done, from + done, bytes - done);
}

StreamingCopy::~StreamingCopy() {
  for (unsigned i = 0; i != waiting; ++i)
    streamRun(to[i], from[i], runBytes);
  finishStreams();
}

void StreamingCopy::add(std::byte *runTo, const std::byte *runFrom) {
  if (runBytes >= kStreams * kPage)
    return addLong(runTo, runFrom);
  to[waiting] = runTo;
  from[waiting] = runFrom;
  if (++waiting == kStreams)
    flush();
}

void StreamingCopy::addLong(std::byte *runTo, const std::byte *runFrom) {
  constexpr uint64_t block = kStreams * kPage;
  const uint64_t head = headOf(runTo);
  std::memcpy(runTo, runFrom, head);
  uint64_t at = head;
  for (; at + block <= runBytes; at += block) {
    for (unsigned i = 0; i != kStreams; ++i) {
      to[i] = runTo + at + i * kPage;
      from[i] = runFrom + at + i * kPage;
    }
    streamLines(to, from, kPage);
  }
  streamRun(runTo + at, runFrom + at, runBytes - at);
}

void StreamingCopy::flush() {
  waiting = 0;
  const uint64_t head = std::min(headOf(to[0]), runBytes);
  const bool areAlike = std::all_of(to.begin(), to.end(), [&](std::byte *run) {
    return headOf(run) == headOf(to[0]);
  });
  if (!areAlike) {
    for (unsigned i = 0; i != kStreams; ++i)
      streamRun(to[i], from[i], runBytes);
    return;
  }
  const uint64_t lines = (runBytes - head) / kLine * kLine;
  const uint64_t tail = runBytes - head - lines;
  for (unsigned i = 0; i != kStreams; ++i) {
    std::memcpy(to[i], from[i], head);
    to[i] += head;
    from[i] += head;
  }
  streamLines(to, from, lines);
  for (unsigned i = 0; i != kStreams; ++i)
    std::memcpy(to[i] + lines, from[i] + lines, tail);
}
