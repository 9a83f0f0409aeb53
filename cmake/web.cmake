# SPDX-License-Identifier: Apache-2.0
# The web console as a part of the program: all files of ${PROJECT_BINARY_DIR}/web/dist, which the
# custom target web_dist makes, if there is one, and ${PROJECT_BINARY_DIR}/web/dist.stamp with them.
# Without it the program is the same but for the page.

set(web_dist ${PROJECT_BINARY_DIR}/web/dist)
set(web_source ${PROJECT_BINARY_DIR}/web/embedded_web_files.cc)
set(web_stamp "")
if(TARGET web_dist)
  set(web_stamp web_dist ${PROJECT_BINARY_DIR}/web/dist.stamp)
endif()
add_custom_command(
  OUTPUT ${web_source}
  COMMAND ${CMAKE_COMMAND} -DFROM=${web_dist} -DTO=${web_source}
          -P ${PROJECT_SOURCE_DIR}/cmake/embed_web.cmake
  DEPENDS ${web_stamp} ${PROJECT_SOURCE_DIR}/cmake/embed_web.cmake
  COMMENT "Embedding the web console" VERBATIM)
target_sources(mayfly_cli PRIVATE ${web_source})
set_source_files_properties(${web_source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
