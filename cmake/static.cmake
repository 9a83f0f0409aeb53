# SPDX-License-Identifier: Apache-2.0
# MAYFLY_STATIC: a program that needs no shared library, for `make tarball`.

option(MAYFLY_STATIC "Whether to link the program statically" OFF)
if(MAYFLY_STATIC)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  # Debian has no static library of fmt, but its headers can do without one.
  add_library(fmt::fmt INTERFACE IMPORTED)
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
else()
  find_package(fmt REQUIRED)
endif()

# mayfly_link_statically(PROGRAM)
#
# Links a program with static libraries only, if MAYFLY_STATIC is on. Its address is still random,
# as that of other programs is.
function(mayfly_link_statically program)
  if(MAYFLY_STATIC)
    # The linker warns of getaddrinfo(), which is safe as main.cc uses it.
    target_link_options(${program} PRIVATE -static-pie LINKER:--no-warnings)
    target_compile_definitions(${program} PRIVATE MAYFLY_STATIC)
    target_link_libraries(PkgConfig::EDIT INTERFACE bsd md tinfo)  # what libedit.a needs
  endif()
endfunction()
