# SPDX-License-Identifier: Apache-2.0
# Bundles the web console: web/ becomes ${PROJECT_BINARY_DIR}/web/dist (target web_dist), which
# web.cmake puts into the program. The packages from npm are installed in the build folder.

find_program(NODE NAMES node nodejs)
find_program(NPM npm)
if(MAYFLY_TESTS STREQUAL product AND NODE AND NPM)
  set(has_web ON)
else()
  set(has_web OFF)
endif()
option(MAYFLY_WEB "Whether the program has the web console; needs Node.js and npm" ${has_web})
if(MAYFLY_WEB)
  if(NOT NODE OR NOT NPM)
    message(FATAL_ERROR "MAYFLY_WEB needs Node.js and npm: install the packages nodejs and npm")
  endif()
  set(web_folder ${PROJECT_BINARY_DIR}/web)
  file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS web/src/*.ts web/src/*.css)
  list(FILTER web_sources EXCLUDE REGEX "_test\\.ts$")
  set(web_packages web/install.mjs web/package.json web/package-lock.json)
  list(TRANSFORM web_packages PREPEND ${PROJECT_SOURCE_DIR}/)
  set(web_static web/build.mjs web/index.html web/favicon.svg)
  list(TRANSFORM web_static PREPEND ${PROJECT_SOURCE_DIR}/)
  add_custom_command(
    OUTPUT ${web_folder}/npm.stamp
    COMMAND ${NODE} ${PROJECT_SOURCE_DIR}/web/install.mjs --out ${web_folder}/npm
    COMMAND ${CMAKE_COMMAND} -E touch ${web_folder}/npm.stamp
    DEPENDS ${web_packages}
    COMMENT "Installing the packages of the web console" VERBATIM)
  add_custom_command(
    OUTPUT ${web_folder}/dist.stamp
    COMMAND ${NODE} ${PROJECT_SOURCE_DIR}/web/build.mjs --modules ${web_folder}/npm/node_modules
            --out ${web_folder}/dist
    COMMAND ${CMAKE_COMMAND} -E touch ${web_folder}/dist.stamp
    DEPENDS ${web_folder}/npm.stamp ${web_static} ${web_sources}
    COMMENT "Bundling the web console" VERBATIM)
  add_custom_target(web_dist DEPENDS ${web_folder}/dist.stamp)
endif()
