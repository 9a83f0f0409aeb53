// SPDX-License-Identifier: Apache-2.0
// What runs first in each LuaState: Lua code that takes away what scripts must not have, and
// replaces functions that could change a frozen table. A replacement calls the function that it
// stands for as its last act (`return f(...)`), so that errors name the place in the script.

#pragma once

namespace mayfly {

// Gets the real table of globals and whether the insecure functions stay. Returns the table of
// globals for scripts, their environment, the function that freezes a table, and the metatable of
// tables whose missing fields are errors.
inline constexpr char kLuaPrelude[] = R"lua(
local real, insecure, load_text, collect_all, to_number, insert_at = ...
local setmetatable, getmetatable, rawset, rawget = setmetatable, getmetatable, rawset, rawget
local pairs, ipairs, next = pairs, ipairs, next
local error, type, tostring = error, type, tostring
local load, math, pcall, select = load, math, pcall, select

local originals = setmetatable({}, {__mode = 'k'})  -- of frozen tables
local hidden = {}                                   -- what getmetatable() returns of them

local function refuse() error('Attempt to modify a readonly table', 2) end
local function refuse_caller() error('Attempt to modify a readonly table', 3) end

local function freeze_as(frozen, original)
  originals[frozen] = original
  return setmetatable(frozen, {__index = original, __newindex = refuse, __metatable = hidden})
end
local function freeze(original) return freeze_as({}, original) end
freeze_as(hidden, {})
getmetatable('').__metatable = hidden

local function checked(f)
  return function(t, ...)
    if originals[t] then refuse_caller() end
    return f(t, ...)
  end
end

local names = {'assert', 'coroutine', 'error', 'gcinfo', 'getmetatable', 'ipairs', 'math',
               'pcall', 'rawequal', 'select', 'string', 'table', 'tonumber', 'tostring', 'type',
               'unpack', '_VERSION', 'bit'}
local globals = {}
for _, name in ipairs(names) do globals[name] = real[name] end
globals.os = {clock = real.os.clock}
globals.math.mod = math.fmod

-- The handler runs after the error, not in it: a hook that raises one could not interrupt a handler
-- that it calls itself.
local function handled(handler, ok, ...)
  if ok then return true, ... end
  local _, result = pcall(handler, (...))
  return false, result
end
globals.xpcall = function(f, ...)
  if select('#', ...) == 0 then
    error("bad argument #2 to 'xpcall' (value expected)", 2)
  end
  return handled((...), pcall(f, select(2, ...)))
end

globals.setmetatable = checked(setmetatable)
globals.rawset = checked(rawset)
globals.rawget = function(t, k)
  return rawget(originals[t] or t, k)
end
local function next_frozen(t, k) return next(originals[t] or t, k) end
globals.next = function(t, k)
  return next(originals[t] or t, k)
end
globals.pairs = function(t)
  if originals[t] then return next_frozen, t, nil end
  return pairs(t)
end
local table = globals.table
for _, name in ipairs({'remove', 'sort'}) do table[name] = checked(table[name]) end
local insert = table.insert
table.insert = function(t, ...)
  if originals[t] then refuse_caller() end
  if select('#', ...) == 2 then return insert_at(t, ...) end
  return insert(t, ...)
end
table.move = nil

local tohex = globals.bit.tohex
globals.bit.tohex = function(x, n)
  if type(n) == 'number' then n = math.max(-8, math.min(n, 8)) end
  return tohex(x, n or 8)
end

local collect = real.collectgarbage
globals.collectgarbage = function(what, ...)
  if what == 'stop' or what == 'setpause' or what == 'setstepmul' or what == 'restart' then
    return 0
  end
  if what == nil or what == 'collect' then return collect_all() end
  if what == 'step' then return collect(what, 0) end  -- a small one for any argument
  return collect(what, ...)
end

local environment
if insecure then
  -- Level 0 and functions in C have the real globals, which scripts must not see. A proxy gets no
  -- metatable: its __gc would run outside of all limits.
  local getfenv, setfenv, newproxy = getfenv, setfenv, newproxy
  globals.getfenv = function(f)
    if f == nil then return environment end  -- `return getfenv()` has no level of its own
    if type(f) == 'number' and f > 0 then f = f + 1 end
    local found = getfenv(f)
    return found == real and environment or found
  end
  globals.setfenv = function(f, t)
    if type(f) == 'number' then
      if f < 1 then error("'setfenv' cannot change environment of given object", 2) end
      f = f + 1
    end
    local changed = setfenv(f, t)
    return changed
  end
  globals.newproxy = function() return newproxy(false) end
end

-- A function's pieces are put together here: a hook that raises an error while the compiler calls
-- the function would never be called again.
local concat = real.table.concat
local function whole(next_piece)
  local pieces = {}
  while true do
    local piece = next_piece()
    if piece == nil or piece == '' then return concat(pieces) end
    if type(piece) ~= 'string' then error('reader function must return a string', 0) end
    pieces[#pieces + 1] = piece
  end
end
globals.load = function(code, name)
  if type(code) == 'function' then
    local ok, text = pcall(whole, code)
    if not ok then return nil, text end
    return load_text(text, name or '=(load)', environment)
  end
  if type(code) == 'string' and (name == nil or type(name) == 'string') then
    return load_text(code, name or code, environment)
  end
  return load(code, name, 't', environment)
end
globals.loadstring = function(code, name)
  if type(code) == 'number' then code = tostring(code) end
  if type(code) ~= 'string' then
    error("bad argument #1 to 'loadstring' (string expected, got " .. type(code) .. ")", 2)
  end
  return load_text(code, name or code, environment)
end
globals.tonumber = to_number

local missing = {__index = function(_, name)
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end}
setmetatable(globals, missing)
environment = freeze(globals)
for _, name in ipairs({'coroutine', 'math', 'string', 'table', 'bit', 'os'}) do
  globals[name] = freeze(globals[name])
end
globals._G = environment

-- Nothing of this is in reach of scripts. If it ever is, it shall not help them.
for name in pairs(real) do
  if name ~= 'type' and name ~= 'tostring' then real[name] = nil end
end

return globals, environment, freeze, missing
)lua";

}  // namespace mayfly
