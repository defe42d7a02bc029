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

# A library without IR that may use LLVM's ADT and Support.
#   etc_add_llvm_library(ETCModel Model.cpp LINK ETCConfig)
function(etc_add_llvm_library name)
  etc_add_library(${name} ${ARGN})
  # Debian's static MLIR libraries stand on libLLVM.so; a static LLVMSupport beside it would be a second copy.
  target_link_libraries(${name} PUBLIC LLVM)
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/include")
endfunction()

# A library that knows MLIR: no exceptions, like MLIR itself.
#   etc_add_mlir_library(ETCDialect EtcOps.cpp DEPENDS ETCDialectIncGen LINK MLIRIR)
function(etc_add_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LINK" ${ARGN})
  etc_add_library(${name} ${ARG_UNPARSED_ARGUMENTS})
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_include_directories(${name} PUBLIC
    "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
  # What TableGen writes is not ours to keep free of warnings.
  target_include_directories(${name} SYSTEM PUBLIC "${PROJECT_BINARY_DIR}")
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()
