# Finds Debian's MLIR 22 and sets up its helpers. Its headers are system headers, so that -Werror stays ours.

find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
# Where add_mlir_doc writes the reference: docs/ of the build.
set(MLIR_BINARY_DIR "${PROJECT_BINARY_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(ETC_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_definitions(${ETC_LLVM_DEFINITIONS})

# Debian's static MLIR libraries stand on libLLVM.so, which takes 15 ms to load: it is 150 MB, and it brings Z3, ICU and
# XML along. What MLIR needs of LLVM are four small archives. All of a binary takes them, since a second copy of LLVM's
# globals beside libLLVM.so would go unnoticed.
add_library(ETCLLVM INTERFACE)
set(archives)
foreach(component Remarks BitstreamReader Support Demangle)
  if(EXISTS "${LLVM_LIBRARY_DIR}/libLLVM${component}.a")
    list(APPEND archives "${LLVM_LIBRARY_DIR}/libLLVM${component}.a")
  endif()
endforeach()
list(LENGTH archives count)
if(count EQUAL 4)
  target_link_libraries(ETCLLVM INTERFACE ${archives} ${CMAKE_DL_LIBS} m)
  get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target ${targets})
    get_target_property(needs ${target} INTERFACE_LINK_LIBRARIES)
    if(needs AND "LLVM" IN_LIST needs)
      list(TRANSFORM needs REPLACE "^LLVM$" "ETCLLVM")
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${needs}")
    endif()
  endforeach()
else()
  target_link_libraries(ETCLLVM INTERFACE LLVM)
endif()

# A library without IR that may use LLVM's ADT and Support.
#   etc_add_llvm_library(ETCModel Model.cpp LINK ETCRequest)
function(etc_add_llvm_library name)
  etc_add_library(${name} ${ARGN})
  target_link_libraries(${name} PUBLIC ETCLLVM)
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/include")
endfunction()

# A library that knows MLIR: no exceptions, like MLIR itself. HEADERS are precompiled; or those of another such library
# are used. CMAKE_DISABLE_PRECOMPILE_HEADERS turns this off.
#   etc_add_mlir_library(ETCDialect EtcOps.cpp DEPENDS ETCDialectIncGen LINK MLIRIR HEADERS <mlir/IR/Builders.h>)
#   etc_add_mlir_library(ETCVerify Rules.cpp LINK ETCDialect HEADERS_OF ETCAnalysis)
function(etc_add_mlir_library name)
  cmake_parse_arguments(ARG "" "HEADERS_OF" "DEPENDS;LINK;HEADERS" ${ARGN})
  etc_add_library(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE -fno-exceptions ${ETC_PRECOMPILED_WARNING_FLAGS})
  target_include_directories(${name} PUBLIC
    "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
  # What TableGen writes is not ours to keep free of warnings.
  target_include_directories(${name} SYSTEM PUBLIC "${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(ARG_HEADERS)
    target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  elseif(ARG_HEADERS_OF)
    target_precompile_headers(${name} REUSE_FROM ${ARG_HEADERS_OF})
  endif()
endfunction()
