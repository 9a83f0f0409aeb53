# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where, in the four parts that become packages: server, lib, dev and
# python (see package.cmake).
#
# Installed, it is found by find_package(mayfly): mayfly::mayfly (static) and mayfly::shared; and by
# pkg-config. A static link needs LMDB, xxHash and the C++ library, and gets them by itself.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/mayfly)

# The program makes its own manual pages and completions, so that they always fit.
set(made ${PROJECT_BINARY_DIR}/made)
add_custom_command(
  OUTPUT ${made}/mayfly.1
  COMMAND mayfly manual --write ${made}
  COMMAND mayfly completion bash > ${made}/mayfly.bash
  COMMAND mayfly completion zsh > ${made}/_mayfly
  COMMAND mayfly completion fish > ${made}/mayfly.fish
  DEPENDS mayfly COMMENT "Writing manual pages and completions" VERBATIM)
set(always "")
if(MAYFLY_TESTS STREQUAL product)
  set(always ALL)
endif()
add_custom_target(texts ${always} DEPENDS ${made}/mayfly.1)
add_dependencies(product texts)

install(TARGETS mayfly COMPONENT server)
install(FILES share/man/mayfly-serve.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT server)
install(DIRECTORY ${made}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT server
        FILES_MATCHING PATTERN "*.1")
install(FILES ${made}/mayfly.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME mayfly COMPONENT server)
install(FILES ${made}/_mayfly DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
        COMPONENT server)
install(FILES ${made}/mayfly.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT server)
install(FILES share/systemd/mayfly.service share/systemd/mayfly@.service
        DESTINATION lib/systemd/system COMPONENT server)
install(FILES share/grafana/mayfly.json DESTINATION ${CMAKE_INSTALL_DATADIR}/mayfly/grafana
        COMPONENT server)

install(TARGETS mayfly_shared EXPORT mayfly-targets
        LIBRARY COMPONENT lib NAMELINK_COMPONENT dev)
install(TARGETS mayfly_static EXPORT mayfly-targets COMPONENT dev)
install(DIRECTORY include/ TYPE INCLUDE COMPONENT dev)
install(EXPORT mayfly-targets NAMESPACE mayfly:: DESTINATION ${package_dir} COMPONENT dev)
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)  # so that it can be moved
foreach(file mayfly-config.cmake mayfly.pc)
  configure_file(scripts/${file}.in ${file} @ONLY)
endforeach()
write_basic_package_version_file(mayfly-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/mayfly-config.cmake
              ${PROJECT_BINARY_DIR}/mayfly-config-version.cmake
        DESTINATION ${package_dir} COMPONENT dev)
install(FILES ${PROJECT_BINARY_DIR}/mayfly.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT dev)

if(MAYFLY_PYTHON)
  set(python_dir lib/python3/dist-packages)  # where Debian's Python looks
  install(DIRECTORY python/mayfly DESTINATION ${python_dir} COMPONENT python
          PATTERN __pycache__ EXCLUDE
          PATTERN "*.so" EXCLUDE)  # what an editable install leaves there
  install(TARGETS python_module LIBRARY DESTINATION ${python_dir}/mayfly COMPONENT python)
endif()

# Debian asks every package to say under which license it comes.
foreach(part server:mayfly lib:libmayfly${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
        dev:libmayfly-dev python:python3-mayfly)
  string(REPLACE ":" ";" part ${part})
  list(GET part 0 component)
  list(GET part 1 package)
  install(FILES share/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
          COMPONENT ${component})
endforeach()
