# SPDX-License-Identifier: Apache-2.0
# Writes a C++ source with the files of a folder, plain and compressed: see src/cli/web_files.h.
#
#   cmake -DFROM=build/release/web/dist -DTO=build/release/web/embedded.cc -P cmake/embed_web.cmake
#
# A folder that does not exist gives a source without files.

cmake_minimum_required(VERSION 3.25)
set(types "html=text/html\; charset=utf-8" "js=text/javascript\; charset=utf-8"
    "css=text/css\; charset=utf-8" "svg=image/svg+xml" "png=image/png" "ico=image/x-icon"
    "json=application/json" "woff2=font/woff2" "webmanifest=application/manifest+json"
    "txt=text/plain\; charset=utf-8")

cmake_path(GET TO PARENT_PATH folder)
set(zipped ${folder}/gzip)
file(REMOVE_RECURSE ${zipped})
file(MAKE_DIRECTORY ${zipped})
file(GLOB_RECURSE names RELATIVE ${FROM} ${FROM}/*)
list(SORT names)

set(data "")
set(symbols "")
set(rows "")
set(count 0)
macro(embed symbol path)
  string(APPEND data "asm(\".section .rodata\\n\"\n    \"${symbol}:\\n\"\n"
         "    \".incbin \\\"${path}\\\"\\n\"\n    \"${symbol}_end:\\n.byte 0\\n.previous\\n\");\n")
  string(APPEND symbols "extern \"C\" const char ${symbol}[], ${symbol}_end[];\n")
endmacro()
foreach(name IN LISTS names)
  cmake_path(GET name EXTENSION LAST_ONLY extension)
  string(SUBSTRING "${extension}" 1 -1 extension)
  set(type "")
  foreach(pair IN LISTS types)
    if(pair MATCHES "^${extension}=(.*)$")
      set(type "${CMAKE_MATCH_1}")
    endif()
  endforeach()
  if(type STREQUAL "")
    message(FATAL_ERROR "${name}: add the type of *.${extension} to cmake/embed_web.cmake")
  endif()
  file(SHA256 ${FROM}/${name} hash)
  string(SUBSTRING ${hash} 0 32 hash)
  file(ARCHIVE_CREATE OUTPUT ${zipped}/${count}.gz PATHS ${FROM}/${name} FORMAT raw
       COMPRESSION GZip COMPRESSION_LEVEL 9 MTIME 1)
  file(SIZE ${FROM}/${name} plain_size)
  file(SIZE ${zipped}/${count}.gz zipped_size)
  embed(mayfly_web_${count} ${FROM}/${name})
  set(gzip "{}")
  if(zipped_size LESS plain_size)
    embed(mayfly_gzip_${count} ${zipped}/${count}.gz)
    set(gzip "between(mayfly_gzip_${count}, mayfly_gzip_${count}_end)")
  endif()
  string(APPEND rows "      {\"/${name}\", \"${type}\", \"\\\"${hash}\\\"\",\n"
         "       between(mayfly_web_${count}, mayfly_web_${count}_end), ${gzip}},\n")
  math(EXPR count "${count} + 1")
endforeach()

set(between "")
if(count GREATER 0)
  string(APPEND between "static std::string_view between(const char* begin, const char* end) {\n"
         "  return {begin, static_cast<std::size_t>(end - begin)};\n}\n")
endif()
file(WRITE ${TO} "// Made by cmake/embed_web.cmake.
#include \"cli/web_files.h\"

#include <cstddef>
#include <string_view>
#include <vector>

${data}${symbols}
namespace mayfly {

${between}
std::span<const HttpFile> embedded_web_files() {
  static const std::vector<HttpFile> files = {
${rows}  };
  return files;
}

}  // namespace mayfly
")
