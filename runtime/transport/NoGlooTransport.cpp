// Stands in for GlooTransport.cpp in a build without Gloo.

#include "transport/GlooTransport.h"

using namespace etc::runtime;

bool etc::runtime::hasGloo() { return false; }

Result<std::unique_ptr<Transport>>
etc::runtime::connectGloo(const GlooOptions &) {
  return Status(ErrorKind::Usage,
                "built without Gloo, which --transport=gloo needs; install it "
                "(libgloo-dev on Debian) and build again");
}
