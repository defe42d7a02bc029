# Writes plan_generated.h from plan.fbs. The header is committed, for the machines without flatc; after a change
# of the schema run
#   cmake -P runtime/core/plan/GenerateHeader.cmake
# With -DOUTPUT_DIR=DIR before -P the header goes there instead, which is how a test compares the two.
# Mutable accessors are needed to write the hash into a finished plan.

if(NOT OUTPUT_DIR)
  set(OUTPUT_DIR "${CMAKE_CURRENT_LIST_DIR}")
endif()
find_program(FLATC flatc REQUIRED)
execute_process(
  COMMAND "${FLATC}" --cpp --scoped-enums --gen-object-api --gen-mutable -o "${OUTPUT_DIR}"
          "${CMAKE_CURRENT_LIST_DIR}/plan.fbs"
  COMMAND_ERROR_IS_FATAL ANY)
