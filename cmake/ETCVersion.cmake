# The version, from its one place; included before project().

file(STRINGS "${CMAKE_CURRENT_LIST_DIR}/../VERSION" ETC_VERSION LIMIT_COUNT 1)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/../VERSION")

# ETCRevision is a header with the revision of the sources, written again whenever that is another one:
#   #include "etc-revision.h"
function(etc_add_revision)
  set(header "${CMAKE_BINARY_DIR}/generated/etc-revision.h")
  add_custom_target(ETCRevisionHeader
    COMMAND ${CMAKE_COMMAND} -D "HEADER=${header}" -P "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/WriteRevision.cmake"
    BYPRODUCTS "${header}" WORKING_DIRECTORY "${CMAKE_CURRENT_FUNCTION_LIST_DIR}" VERBATIM)
  add_library(ETCRevision INTERFACE)
  target_include_directories(ETCRevision INTERFACE "${CMAKE_BINARY_DIR}/generated")
  add_dependencies(ETCRevision ETCRevisionHeader)
endfunction()
