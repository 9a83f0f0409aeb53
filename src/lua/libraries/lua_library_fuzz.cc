// SPDX-License-Identifier: Apache-2.0
// Fuzzes the libraries of scripts. The first byte of an input says which one, the next line is a
// format or pattern, the rest a text. What was unpacked or decoded can be packed or encoded, and
// comes back with the same size. (The order of a table's keys is not fixed.)

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <string>
#include <string_view>

#include "lua/test_script.h"

namespace {

constexpr std::string_view kScripts[] = {
    // Tables that are too deep become nil, and fields that are nil are gone the next time.
    R"lua(
local ok, value = pcall(cmsgpack.unpack, text)
for i = 1, 3 do
  if not ok then return 'refused' end
  ok, value = pcall(cmsgpack.unpack, cmsgpack.pack(value))
end
if not ok then return 'refused' end
local packed = cmsgpack.pack(value)
return #cmsgpack.pack(cmsgpack.unpack(packed)) == #packed and 'same' or 'different'
)lua",
    R"lua(
pcall(struct.size, format)
local values = {pcall(struct.unpack, format, text)}
if not values[1] then return 'refused' end
if values[#values] > #text + 1 and format ~= '' then return 'different' end
pcall(struct.pack, format, unpack(values, 2))
return 'same'
)lua",
    R"lua(
local ok, value = pcall(cjson.decode, text)
if not ok then return 'refused' end
local encoded
ok, encoded = pcall(cjson.encode, value)
if not ok then return 'refused' end
encoded = cjson.encode(cjson.decode(encoded))
return #cjson.encode(cjson.decode(encoded)) == #encoded and 'same' or 'different'
)lua",
    R"lua(
local ok, result = pcall(function()
  local from, to = text:find(format)
  if from and (from < 1 or to > #text) then return 'different' end
  for a, b in text:gmatch(format) do end
  pcall(string.match, text, format, -3)
  local replaced = text:gsub(format, '%0')
  return replaced == text and (text:gsub(format, {})) == text and 'same' or 'different'
end)
return ok and result or 'refused'
)lua",
    R"lua(
pcall(cmsgpack.unpack_one, text, #format)
pcall(cmsgpack.unpack_limit, text, #format % 5, #format)
pcall(string.gsub, text, '.', format)
pcall(string.gsub, text, format, format)
pcall(cjson.encode, {[text] = format, text})
return 'same'
)lua",
};

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer calls it so
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static mayfly::TestScript script({.memory_most = std::size_t{64} << 20});
  const std::string_view input(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::size_t line = std::min(input.find('\n'), input.size());
  lua_State* const lua = script.state().get();
  mayfly::push_text(lua, input.substr(0, line));
  script.state().set_global("format");
  mayfly::push_text(lua, input.substr(std::min(line + 1, input.size())));
  script.state().set_global("text");

  const std::string result = script.run_killed(kScripts[data[0] % std::size(kScripts)], 1000);
  if (result.find("same") == result.npos && result.find("refused") == result.npos &&
      result.find("killed") == result.npos && result.find("not enough memory") == result.npos) {
    std::abort();
  }
  if (lua_gettop(lua) != 0) std::abort();
  return 0;
}
