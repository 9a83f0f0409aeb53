# SPDX-License-Identifier: Apache-2.0
# Debian packages: `make package`, or `cpack` in a build directory. The program with the server, the
# library, what is needed to compile with it, and the Python package; each can be installed without
# those that it does not need.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mayfly)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Mayfly authors <mayfly@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL server lib dev)
if(MAYFLY_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # what is linked is what is needed
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # and the linker is told of the library
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(soname ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

set(CPACK_DEBIAN_SERVER_PACKAGE_NAME mayfly)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION database)
if(MAYFLY_CLUSTER)
  set(CPACK_DEBIAN_SERVER_PACKAGE_RECOMMENDS libcurl4)  # loaded by servers of a cluster only
endif()
set(CPACK_COMPONENT_SERVER_DESCRIPTION
    "The program mayfly: a server for clients of Redis and Valkey with expiry of
hash fields, and commands that work on a store in a file.")

set(CPACK_DEBIAN_LIB_PACKAGE_NAME libmayfly${soname})
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIB_DESCRIPTION
    "The library with the embedded store and the cache, which programs in C and C++
link.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libmayfly-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libmayfly${soname} (= ${PROJECT_VERSION}), liblmdb-dev, libxxhash-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION
    "Headers and the static library: what is needed to compile programs in C and C++
that use the store or the cache.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-mayfly)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
if(MAYFLY_PYTHON)  # a module is for one version of Python
  math(EXPR next "${Python3_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "python3 (>= 3.${Python3_VERSION_MINOR}~), python3 (<< 3.${next})")
endif()
set(CPACK_COMPONENT_PYTHON_DESCRIPTION
    "For Python: a dictionary in a file, with transactions and a deadline for every
key; a cache and a decorator that forget in time.")

include(CPack)
