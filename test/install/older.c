/* A program that was built with an older header, in which the options of a
 * migration end earlier: the library of today stays within what it has. */

#include "older/run.h"

#include <stdio.h>

int main(void) {
  struct {
    etc_options options;
    unsigned char after[64];
  } mine;
  for (size_t i = 0; i != sizeof mine.after; ++i)
    mine.after[i] = 0xa5;
  etc_options_init(&mine.options);
  for (size_t i = 0; i != sizeof mine.after; ++i)
    if (mine.after[i] != 0xa5)
      return printf("etc_options_init wrote behind the options\n"), 1;
  if (mine.options.struct_size != sizeof mine.options)
    return printf("struct_size is %u\n", (unsigned)mine.options.struct_size), 1;
  return etc_run_api_version() < ETC_RUN_API_VERSION;
}
