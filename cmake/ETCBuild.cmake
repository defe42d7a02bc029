# Settings that every part of the build shares.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

# Where ccache is installed, the same source is compiled once: in a second preset, a second clone, after a rebase.
find_program(ETC_CCACHE ccache)
if(ETC_CCACHE)
  foreach(language C CXX)
    if(NOT CMAKE_${language}_COMPILER_LAUNCHER)
      # ccache caches what uses precompiled headers only with this sloppiness, and finds it again from another folder
      # only if their paths are relative.
      set(CMAKE_${language}_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
        CCACHE_SLOPPINESS=pch_defines,time_macros "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "${ETC_CCACHE}")
    endif()
  endforeach()
endif()

set(ETC_WARNING_FLAGS -Wall -Wextra -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # GCC 12 warns about its own std::string (gcc.gnu.org/PR105651); in three ways if its headers are precompiled.
  list(APPEND ETC_WARNING_FLAGS -Wno-restrict)
  set(ETC_PRECOMPILED_WARNING_FLAGS -Wno-array-bounds -Wno-stringop-overflow)
endif()

find_program(ETC_LLD NAMES ld.lld lld)
if(ETC_LLD)
  add_link_options(-fuse-ld=lld)
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

include(GNUInstallDirs)
include("${CMAKE_CURRENT_LIST_DIR}/ETCInstallLibraries.cmake")
set(ETC_INCLUDE_DIR "${CMAKE_CURRENT_LIST_DIR}/../include")
set(ETC_EXPORTED_SYMBOLS "${CMAKE_CURRENT_LIST_DIR}/exported-symbols.map")

# A plain C++ library of the project: warnings on, exceptions on.
#   etc_add_library(ETCLayout Layout.cpp LINK ETCModel)
function(etc_add_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE ${ETC_WARNING_FLAGS})
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
endfunction()

# A shared library with a C interface, lib<output>.so: it shows the functions of its header and nothing else. What it is
# made of is linked statically, and stays inside.
#   etc_add_c_library(ETCRunC etc-run Error.cpp LINK ETCEngine)
function(etc_add_c_library name output)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_library(${name} SHARED ${ARG_UNPARSED_ARGUMENTS})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${output} LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib"
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    INSTALL_RPATH "$ORIGIN" LINK_DEPENDS "${ETC_EXPORTED_SYMBOLS}")
  if(NOT SKBUILD) # a wheel has no symbolic links
    set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 1)
  endif()
  target_compile_options(${name} PRIVATE ${ETC_WARNING_FLAGS})
  target_compile_definitions(${name} PRIVATE ETC_VERSION="${PROJECT_VERSION}")
  target_include_directories(${name} PUBLIC
    "$<BUILD_INTERFACE:${ETC_INCLUDE_DIR}>" "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
  target_link_options(${name} PRIVATE "-Wl,--version-script=${ETC_EXPORTED_SYMBOLS}")
  if(NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize") # whose functions are in the program
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
endfunction()

# A GoogleTest binary, registered with CTest under its own name; `ctest -L fast` runs it.
function(etc_add_unittest name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  # Tests run but once: to optimise them takes longer than they gain.
  target_compile_options(${name} PRIVATE ${ETC_WARNING_FLAGS} $<$<CONFIG:Release>:-O1>)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  # The first one precompiles what they all include.
  get_property(first GLOBAL PROPERTY ETC_FIRST_UNITTEST)
  if(first)
    target_precompile_headers(${name} REUSE_FROM ${first})
  else()
    target_precompile_headers(${name} PRIVATE <gtest/gtest.h> <map> <random> <string> <vector>)
    set_property(GLOBAL PROPERTY ETC_FIRST_UNITTEST ${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS fast)
endfunction()
