# Which libraries of the project a target may stand on, directly or through others. A target that must not share code
# with another says so here, and configuring fails where a link breaks it:
#   etc_links_only(ETCVerify ETCDialect ETCLayout)
# It is checked at the end of configuring, when all links are known. Libraries of others are not looked into. The
# target's property ETC_LINKS_ONLY names the libraries, for a test of their symbols.
function(etc_links_only target)
  set_property(TARGET ${target} PROPERTY ETC_LINKS_ONLY ${ARGN})
  cmake_language(EVAL CODE
    "cmake_language(DEFER DIRECTORY [[${PROJECT_SOURCE_DIR}]] CALL etc_check_links [[${target}]] [[${ARGN}]])")
endfunction()

function(etc_check_links target allowed)
  set(paths "${target}") # "ETCVerify -> ETCLayout", of libraries to look into
  set(seen "${target}")
  while(paths)
    list(POP_FRONT paths path)
    string(REGEX REPLACE ".* " "" library "${path}")
    set(links "")
    foreach(property LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(found ${library} ${property})
      if(found)
        list(APPEND links ${found})
      endif()
    endforeach()
    list(TRANSFORM links REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1")
    list(REMOVE_DUPLICATES links)
    foreach(link IN LISTS links)
      if(NOT link MATCHES "^ETC" OR link IN_LIST seen)
        continue()
      endif()
      if(NOT link IN_LIST allowed)
        string(REPLACE ";" ", " names "${allowed}")
        message(FATAL_ERROR
          "${target} must not link ${link} (${path} -> ${link}); expected no library of the project but ${names}")
      endif()
      list(APPEND seen ${link})
      list(APPEND paths "${path} -> ${link}")
    endforeach()
  endwhile()
endfunction()
