# What is installed beside programs and libraries, and the packages. Three components: ETCPlanner (etc-opt), ETCRuntime
# (etc-run; no LLVM) and Development (headers, CMake and pkg-config files of the libraries).
#   cmake --install build --prefix PREFIX [--component ETCRuntime]
#   cpack --config build/CPackConfig.cmake -B build/packages

set(tools etc-run)
if(TARGET etc-opt)
  list(APPEND tools etc-opt)
endif()
set(component_of_etc-opt ETCPlanner)
set(component_of_etc-run ETCRuntime)

# Man pages are written from what the programs say of themselves.
find_program(ETC_SYSTEM_PYTHON NAMES python3 HINTS /usr/bin)
foreach(tool ${tools})
  set(component ${component_of_${tool}})
  if(ETC_SYSTEM_PYTHON)
    set(page "${PROJECT_BINARY_DIR}/man/${tool}.1")
    add_custom_command(OUTPUT "${page}"
      COMMAND "${ETC_SYSTEM_PYTHON}" "${PROJECT_SOURCE_DIR}/tools/docs/make-man" $<TARGET_FILE:${tool}> "${page}"
      DEPENDS ${tool} "${PROJECT_SOURCE_DIR}/tools/docs/make-man" "${PROJECT_SOURCE_DIR}/tools/docs/help.py" VERBATIM)
    list(APPEND pages "${page}")
    install(FILES "${page}" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1" COMPONENT ${component})
  endif()
  install(FILES "${PROJECT_SOURCE_DIR}/tools/completion/etc.bash" RENAME ${tool}
    DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" COMPONENT ${component})
  string(TOLOWER ${component} package)
  string(REPLACE etc etc- package ${package})
  foreach(file LICENSE CHANGELOG.md README.md)
    install(FILES "${PROJECT_SOURCE_DIR}/${file}" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}"
      COMPONENT ${component})
  endforeach()
  # Both programs hold the library that draws reports.
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/runtime/view/report/third_party/echarts"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/${package}" COMPONENT ${component} PATTERN "*.js" EXCLUDE)
endforeach()
add_custom_target(man ALL DEPENDS ${pages})

install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DATADIR}/doc/etc-dev" COMPONENT Development)
install(DIRECTORY "${PROJECT_SOURCE_DIR}/runtime/view/simulate/clusters" DESTINATION "${CMAKE_INSTALL_DATADIR}/etc"
  COMPONENT ETCRuntime)
# Requests, models, layouts and the assignment for C++: static, without IR, on LLVM's Support alone.
if(TARGET ETCAssignment)
  install(TARGETS ETCRequest ETCModel ETCLayout ETCAssignment ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    COMPONENT Development)
  install(FILES "${PROJECT_SOURCE_DIR}/include/etc/Geometry.h" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/etc"
    COMPONENT Development)
  foreach(library Request Model Layout Optimize/Assignment)
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/etc/${library}/"
      DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/etc/${library}" COMPONENT Development)
  endforeach()
endif()
# The contract between the planner and whoever executes plans.
install(FILES "${PROJECT_SOURCE_DIR}/runtime/core/plan/plan.fbs" DESTINATION "${CMAKE_INSTALL_DATADIR}/etc"
  COMPONENT Development)

set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL ETCRuntime Development)
if(TARGET etc-opt)
  list(PREPEND CPACK_COMPONENTS_ALL ETCPlanner)
endif()
set(CPACK_PACKAGE_NAME etc)
set(CPACK_PACKAGE_VERSION "${PROJECT_VERSION}")
set(CPACK_PACKAGE_CONTACT "The ETC developers <etc@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${PROJECT_BINARY_DIR}/lib")
set(CPACK_DEBIAN_ETCPLANNER_PACKAGE_NAME etc-planner)
set(CPACK_DEBIAN_ETCRUNTIME_PACKAGE_NAME etc-runtime)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME etc-dev)
set(CPACK_COMPONENT_ETCPLANNER_DESCRIPTION "Plans how the state of a training job moves between configurations
 etc-opt turns a request into a verified plan, with certified lower bounds on
 the bytes moved and on the time.")
set(CPACK_COMPONENT_ETCRUNTIME_DESCRIPTION "Executes plans that etc-opt wrote
 etc-run moves state between threads, processes and GPUs, and checks it; it
 needs neither MLIR nor LLVM.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Headers to plan and to migrate in a training process
 C headers, the schema of plans, and files for CMake and pkg-config.")
# libetc-plan stands on libetc-run.
set(CPACK_DEBIAN_ETCPLANNER_PACKAGE_DEPENDS "etc-runtime (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "etc-planner (= ${PROJECT_VERSION})")
include(CPack)
