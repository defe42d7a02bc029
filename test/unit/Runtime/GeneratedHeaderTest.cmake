# Generates the plan's header again and compares it with the committed one.
#   cmake -DPLAN_DIR=runtime/core/plan -DOUTPUT_DIR=DIR -P GeneratedHeaderTest.cmake

file(MAKE_DIRECTORY "${OUTPUT_DIR}")
include("${PLAN_DIR}/GenerateHeader.cmake")
file(READ "${PLAN_DIR}/plan_generated.h" committed)
file(READ "${OUTPUT_DIR}/plan_generated.h" generated)
if(NOT committed STREQUAL generated)
  message(FATAL_ERROR "plan_generated.h is out of date: run cmake -P runtime/core/plan/GenerateHeader.cmake")
endif()
