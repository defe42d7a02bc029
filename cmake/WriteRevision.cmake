# Writes HEADER with the revision of the sources around the working directory; "unknown" outside of a clone.
cmake_minimum_required(VERSION 3.25)
find_package(Git QUIET)
set(revision unknown)
if(Git_FOUND)
  execute_process(COMMAND "${GIT_EXECUTABLE}" rev-parse --short=10 HEAD
    OUTPUT_VARIABLE output OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(revision "${output}")
  endif()
endif()
file(CONFIGURE OUTPUT "${HEADER}" CONTENT "#define ETC_REVISION \"@revision@\"\n" @ONLY)
