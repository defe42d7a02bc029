// What is called, for a log and for a rule of the engine: between the first
// round and the last nothing connects, registers, creates, releases or waits
// for a whole device.

#ifndef ETC_TEST_CALLLOG_H
#define ETC_TEST_CALLLOG_H

#include <string>

namespace etc::test {

/// "connect", "register", "create", "release" and "wait-device" are faults
/// while the device is watched (etcDoubleWatch).
void logCall(const char *kind, const std::string &what, int device);
/// Of the calling thread's device.
void logCall(const char *kind, const std::string &what);

} // namespace etc::test

#endif // ETC_TEST_CALLLOG_H
