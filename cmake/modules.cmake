# SPDX-License-Identifier: Apache-2.0
# Functions that make a module of a folder: its library, program, tests, micro-benchmarks, fuzzers.

# mayfly_test(NAME COMMAND...)
#
# Registers a test. Its name begins with that of the preset, so that `ctest` can run all presets
# at once (see the Makefile) and still say which one failed.
function(mayfly_test name)
  add_test(NAME ${preset}/${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${preset}/${name} PROPERTIES TIMEOUT 900 ENVIRONMENT
    "MAYFLY=$<TARGET_FILE:mayfly>;MAYFLY_BUILD=${PROJECT_BINARY_DIR};PYTHONDONTWRITEBYTECODE=1")
  # The longest ones begin first, so that no core waits for them at the end.
  if(name MATCHES "^(server|store|expiry)\\.tests$|^tests\\.(bench|console|states)_test$")
    set_tests_properties(${preset}/${name} PROPERTIES COST 100)
  endif()
endfunction()

# mayfly_module(NAME [FOLDER folder] [DEPENDS target...] [PROGRAM name])
#
# Everything below src/NAME, or FOLDER, is one module: x_test.cc is the test NAME.x_test (so is
# x_test.c, which has a main() of its own), x_bench.cc the benchmark NAME.x_bench, main.cc the
# program, and the rest a library, which is compiled once for all uses.
# x_fuzz.cc is the fuzzer x. It can use only the modules it names.
function(mayfly_module name)
  cmake_parse_arguments(arg "" "FOLDER;PROGRAM" "DEPENDS" ${ARGN})
  if(NOT arg_FOLDER)
    set(arg_FOLDER src/${name})
  endif()
  if(NOT IS_DIRECTORY ${PROJECT_SOURCE_DIR}/${arg_FOLDER})
    message(FATAL_ERROR "The module ${name} has no folder ${arg_FOLDER}")
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${arg_FOLDER}/*.cc)
  file(GLOB_RECURSE c_test CONFIGURE_DEPENDS ${arg_FOLDER}/*_test.c)
  foreach(kind test bench fuzz)
    set(${kind} ${sources})
    list(FILTER ${kind} INCLUDE REGEX "_${kind}\\.cc$")
  endforeach()
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|_fuzz|/main)\\.cc$")

  if(sources)
    add_library(mayfly_${name} STATIC EXCLUDE_FROM_ALL ${sources})
    # The objects go into libmayfly.so too. Nobody may replace our functions there, so that the
    # compiler can inline them within a file as it would elsewhere.
    set_target_properties(mayfly_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON
                          ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/modules)
    target_compile_options(mayfly_${name} PRIVATE -fno-semantic-interposition)
    # Several sources at a time: most of the time of one goes into the headers that all include. In
    # a large unit the compiler inlines less, so what must be fast is compiled alone in the product.
    if(NOT MAYFLY_TESTS STREQUAL product OR name MATCHES
       "^(tools|cli|bench|capi|python|cluster|etcd)$")
      set_target_properties(mayfly_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    elseif(name STREQUAL server)
      mayfly_group_sources(mayfly_${name} ${sources})
    endif()
    set(scope PUBLIC)
  else()
    add_library(mayfly_${name} INTERFACE)  # headers only
    set(scope INTERFACE)
  endif()
  target_include_directories(mayfly_${name} ${scope} include src .)
  target_link_libraries(mayfly_${name} ${scope} ${arg_DEPENDS} Threads::Threads)

  if(arg_PROGRAM)
    add_executable(${arg_PROGRAM} ${unless_product} ${arg_FOLDER}/main.cc)
    target_link_libraries(${arg_PROGRAM} PRIVATE mayfly_${name})
  endif()
  mayfly_unit_tests(${name} ${test} ${c_test})
  mayfly_benches(${name} ${bench})
  mayfly_fuzzers(${name} ${fuzz})
endfunction()

# Of the server in the product, what no request passes through is compiled by folder.
function(mayfly_group_sources target)
  set(slow ${ARGN})
  set(folders "admin|cluster|config|http|metrics|migration|monitoring")
  list(FILTER slow INCLUDE REGEX "/src/server/(${folders})/")
  list(FILTER slow EXCLUDE REGEX "/cluster_requests\\.cc$")
  foreach(file IN LISTS slow)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME group)
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# The store once more, with the hooks of src/store/log/test_hooks.h, for tests that stop it, kill it
# or break one of its rules.
function(mayfly_hooked_store)
  get_target_property(sources mayfly_store SOURCES)
  add_library(mayfly_store_hooked STATIC EXCLUDE_FROM_ALL ${sources})
  set_target_properties(mayfly_store_hooked PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  target_compile_definitions(mayfly_store_hooked PUBLIC MAYFLY_STORE_TEST_HOOKS)
  target_include_directories(mayfly_store_hooked PUBLIC include src .)
  target_link_libraries(mayfly_store_hooked PUBLIC mayfly_base PkgConfig::LMDB PkgConfig::XXHASH
                        Threads::Threads)
endfunction()

# Half of the time of a small file goes into the headers of the standard library and of gtest; so
# they are read once for all. Sources still name what they use: libraries of the lower modules and
# the check of headers (scripts/tidy.py) do without.
set(common_headers <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory> <optional>
    <span> <string> <string_view> <unordered_map> <utility> <vector>)
if(GTest_FOUND AND rapidcheck_FOUND)
  file(CONFIGURE OUTPUT test_headers.cc CONTENT "// Nothing: its headers are what counts.\n")
  add_library(mayfly_test_headers OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/test_headers.cc)
  target_link_libraries(mayfly_test_headers PRIVATE rapidcheck GTest::gtest Threads::Threads)
  target_compile_options(mayfly_test_headers PRIVATE -O0)
  target_precompile_headers(mayfly_test_headers PRIVATE ${common_headers} <gtest/gtest.h>
                            <rapidcheck.h>)
endif()

# The same, and the header that nearly all tests of a module begin with.
if(TARGET mayfly_test_headers AND NOT MAYFLY_TESTS STREQUAL product)
  add_library(mayfly_server_test_headers OBJECT EXCLUDE_FROM_ALL
              ${PROJECT_BINARY_DIR}/test_headers.cc)
  target_link_libraries(mayfly_server_test_headers PRIVATE mayfly_server rapidcheck GTest::gtest)
  target_compile_options(mayfly_server_test_headers PRIVATE -O0)
  target_precompile_headers(
    mayfly_server_test_headers PRIVATE ${common_headers} <gtest/gtest.h> <rapidcheck.h>
    ${PROJECT_SOURCE_DIR}/src/server/core/server_fixture.h)
endif()

# The tests of a module are one program, and are compiled several files at a time: the templates of
# gtest and RapidCheck take most of the time, and are shared so. A test with its own main() or
# operator new stands alone.
function(mayfly_unit_tests module)
  set(files ${ARGN})
  # The program's own code is large and plain, and compiles slowly under sanitizers: its tests go
  # with the product, those of all modules below it do not.
  set(of_program FALSE)
  if(module MATCHES "^(tools|bench|cli)$")
    set(of_program TRUE)
  endif()
  if(NOT TARGET mayfly_test_headers OR (MAYFLY_TESTS STREQUAL product AND NOT of_program)
     OR (NOT MAYFLY_TESTS STREQUAL product AND of_program))
    return()
  elseif(MAYFLY_TESTS STREQUAL threads)
    list(FILTER files INCLUDE REGEX "_thread_test\\.cc?$")
  else()
    list(FILTER files EXCLUDE REGEX "_thread_test\\.cc?$")  # TSan is the tool for these
  endif()
  foreach(file IN LISTS files)
    cmake_path(GET file STEM stem)
    set(target ${module}.tests)
    if(file MATCHES "\\.c$|_memory_test\\.cc$")
      set(target ${module}.${stem})
    endif()
    if(TARGET ${target})
      target_sources(${target} PRIVATE ${file})
    else()
      mayfly_test_program(${target} ${module} ${file})
    endif()
  endforeach()
endfunction()

function(mayfly_test_program target module file)
  add_executable(${target} ${file})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  if(file MATCHES "\\.c$")
    set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX C_EXTENSIONS OFF)
    target_link_libraries(${target} PRIVATE mayfly_${module})
  else()
    target_link_libraries(${target} PRIVATE mayfly_${module} rapidcheck GTest::gtest_main)
    set(headers mayfly_test_headers)
    if(TARGET mayfly_${module}_test_headers)
      set(headers mayfly_${module}_test_headers)
    endif()
    target_precompile_headers(${target} REUSE_FROM ${headers})
  endif()
  # Most of the time of `make test` goes into compiling tests, and sanitizers make optimizing them
  # slow. The library they test is optimized all the same. Tests of modules that are compiled do
  # without UBSan in themselves, which takes a third of their time; where much is in headers (the
  # expiry indexes, the cache, the tables of the keyspace) it is what they are for.
  target_compile_options(${target} PRIVATE -O0)
  if(MAYFLY_SANITIZE MATCHES undefined AND NOT module MATCHES "^(base|expiry|cache|keyspace)$")
    target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
  endif()
  mayfly_test(${target} ${target})
endfunction()

function(mayfly_benches module)
  if(NOT benchmark_FOUND)
    return()
  endif()
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM stem)
    set(target ${module}.${stem})
    add_executable(${target} EXCLUDE_FROM_ALL ${file})
    set_target_properties(${target} PROPERTIES
                          RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/benches)
    target_link_libraries(${target} PRIVATE mayfly_${module} benchmark::benchmark_main)
    add_dependencies(benches ${target})
  endforeach()
endfunction()

# A fuzzer is built with libFuzzer in the preset fuzz (see scripts/fuzz.py), and among the unit
# tests with a main() that runs it over its committed inputs: tests/fuzz/NAME.seeds.
function(mayfly_fuzzers module)
  set(tested_with units)
  if(module MATCHES "^(tools|bench|cli)$")
    set(tested_with product)  # as the unit tests of these are
  endif()
  foreach(file IN LISTS ARGN)
    cmake_path(GET file STEM stem)
    if(MAYFLY_TESTS STREQUAL fuzzers)
      add_executable(${stem} ${file})
      target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
      set_target_properties(${stem} PROPERTIES
                            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzzers)
      target_link_libraries(${stem} PRIVATE mayfly_${module})
    elseif(MAYFLY_TESTS STREQUAL tested_with)
      set(target ${module}.${stem})
      add_executable(${target} ${file} tests/fuzz/run_corpus.cc)
      set_target_properties(${target} PROPERTIES
                            RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
      target_link_libraries(${target} PRIVATE mayfly_${module})
      target_compile_options(${target} PRIVATE -O0)
      string(REGEX REPLACE "_fuzz$" "" corpus ${stem})
      mayfly_test(${target} ${target} tests/fuzz/${corpus}.seeds)
    endif()
  endforeach()
endfunction()
