#include "Exit.h"

#include <iostream>

using namespace etc::run;
using etc::plan::ErrorKind;
using etc::plan::Status;

int etc::run::exitCode(const Status &status) {
  switch (status.kind()) {
  case ErrorKind::None:
    return 0;
  case ErrorKind::Verification:
    return 1;
  case ErrorKind::Usage:
  case ErrorKind::Malformed:
    return 2;
  case ErrorKind::Peer:
    return 3;
  }
  return 3;
}

int etc::run::fail(const Status &status) {
  std::cerr << "etc-run: " << status.message() << "\n";
  return exitCode(status);
}
