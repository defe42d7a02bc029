# Finds Debian's MLIR 22 and sets up its helpers. Its headers are system headers, so that -Werror stays ours.

find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22)
list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
include(TableGen)
include(AddLLVM)
include(AddMLIR)

include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(ETC_LLVM_DEFINITIONS NATIVE_COMMAND ${LLVM_DEFINITIONS})
add_compile_definitions(${ETC_LLVM_DEFINITIONS})

# A library without IR that may use LLVM's ADT and Support.
#   etc_add_llvm_library(ETCModel Model.cpp LINK ETCConfig)
function(etc_add_llvm_library name)
  etc_add_library(${name} ${ARGN})
  target_link_libraries(${name} PUBLIC LLVMSupport)
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/include")
endfunction()
