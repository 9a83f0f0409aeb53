# SPDX-License-Identifier: Apache-2.0
# MAYFLY_CLUSTER: whether servers can be a cluster that keeps its records in etcd. libcurl's headers
# are needed to build it. The library itself is loaded when a server of a cluster starts, so that
# others do without; a program without shared libraries cannot load one.

option(MAYFLY_CLUSTER "Whether to build the client of etcd, for clusters" ON)
if(MAYFLY_CLUSTER AND MAYFLY_STATIC)
  message(STATUS "No clusters: a static program cannot load libcurl (MAYFLY_CLUSTER is OFF)")
  set(MAYFLY_CLUSTER OFF)
endif()
if(MAYFLY_CLUSTER)
  find_path(CURL_HEADERS curl/multi.h)
  if(CURL_HEADERS)
    add_library(CURL::headers INTERFACE IMPORTED)
    target_include_directories(CURL::headers INTERFACE ${CURL_HEADERS})
  else()
    message(STATUS "No clusters: the headers of libcurl are missing (MAYFLY_CLUSTER is OFF; "
                   "install libcurl4-openssl-dev)")
    set(MAYFLY_CLUSTER OFF)
  endif()
endif()
