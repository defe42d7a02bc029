# Installs the C libraries, their headers, and what find_package(ETC) and pkg-config read.
#   etc_install_library(ETCRunC run "Executes migration plans" COMPONENT ETCRuntime HEADERS etc-c/run.h)
include(CMakePackageConfigHelpers)

function(etc_install_library target name description)
  cmake_parse_arguments(ARG "" "COMPONENT" "HEADERS;REQUIRES" ${ARGN})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS ${target} EXPORT ETC-${name}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${ARG_COMPONENT} NAMELINK_COMPONENT Development)
  install(EXPORT ETC-${name} NAMESPACE ETC:: DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/ETC" COMPONENT Development)
  foreach(header ${ARG_HEADERS})
    install(FILES "${ETC_INCLUDE_DIR}/${header}" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/etc-c"
      COMPONENT Development)
  endforeach()
  set(ETC_PC_NAME etc-${name})
  set(ETC_PC_DESCRIPTION "${description}")
  set(ETC_PC_REQUIRES "${ARG_REQUIRES}")
  # The package can be moved.
  file(RELATIVE_PATH ETC_PC_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
  configure_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/etc.pc.in" "${CMAKE_BINARY_DIR}/etc-${name}.pc" @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/etc-${name}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT Development)
endfunction()

# Once, after all libraries.
function(etc_install_package)
  configure_package_config_file("${CMAKE_CURRENT_FUNCTION_LIST_DIR}/ETCConfig.cmake.in"
    "${CMAKE_BINARY_DIR}/ETCConfig.cmake" INSTALL_DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/ETC")
  write_basic_package_version_file("${CMAKE_BINARY_DIR}/ETCConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
  install(FILES "${CMAKE_BINARY_DIR}/ETCConfig.cmake" "${CMAKE_BINARY_DIR}/ETCConfigVersion.cmake"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/cmake/ETC" COMPONENT Development)
endfunction()
