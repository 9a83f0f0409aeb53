// SPDX-License-Identifier: Apache-2.0
#include "lua/lua_state.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

#include "lua/lua_prelude.h"

namespace mayfly {
namespace {

void open_library(lua_State* lua, lua_CFunction open, const char* name) {
  lua_pushcfunction(lua, open);
  lua_pushstring(lua, name);
  lua_call(lua, 1, 0);
}

void replace_in(lua_State* lua, const char* library, void (*replace)(lua_State*)) {
  lua_getglobal(lua, library);
  replace(lua);
  lua_pop(lua, 1);
}

}  // namespace

// Without a protected call, LuaJIT ends the process after this: as a crash, it is reported.
int LuaState::panic(lua_State* lua) {
  const std::string text(text_at(lua, -1));
  std::fprintf(stderr, "Lua: an error outside of a protected call: %s\n", text.c_str());
  std::abort();
}

// The system gives pages of a large block when they are first written to, which takes longer than
// all else that is done with it: so they are written to here, a few at a time.
bool LuaState::touch(LuaMemory& counted, char* block, std::size_t from, std::size_t size) {
  constexpr std::size_t kPage = 4096;
  constexpr std::size_t kPagesAtOnce = 1024;
  std::size_t pages = 0;
  for (std::size_t at = (from + kPage - 1) / kPage * kPage; at < size; at += kPage) {
    block[at] = 0;
    if (++pages % kPagesAtOnce != 0 || !counted.work.is_due()) continue;
    if (counted.pause(counted.pause_context)) continue;
    counted.refuses_large = true;
    return false;
  }
  return true;
}

// A table keeps fields with other names than 1 to n in a block of this form. It is filled anew when
// the table grows, which cannot be interrupted: so there are at most kFieldsMost of them.
bool LuaState::is_large_table(std::size_t size) {
  constexpr std::size_t kFieldBytes = 24;
  constexpr std::size_t kFieldsMost = std::size_t{1} << 21;
  return size > kFieldBytes * kFieldsMost && size % kFieldBytes == 0 &&
         std::has_single_bit(size / kFieldBytes);
}

void* LuaState::allocate(void* memory, void* old, std::size_t old_size, std::size_t size) {
  constexpr std::size_t kLarge = std::size_t{4} << 20;
  LuaMemory& counted = *static_cast<LuaMemory*>(memory);
  if (size == 0) {
    counted.used -= old_size;
    std::free(old);
    return nullptr;
  }
  const bool is_beyond = size > old_size && counted.used + (size - old_size) > counted.most;
  if (is_beyond && counted.is_limited) return nullptr;
  if (old == nullptr && counted.is_limited && is_large_table(size)) return nullptr;
  const bool is_large = size > old_size && size - old_size >= kLarge;
  if (is_large && counted.is_limited && counted.pause != nullptr) {
    if (counted.refuses_large) return nullptr;
    // A block that is refused must be as it was, so it is not enlarged in its place.
    auto* const block = static_cast<char*>(std::malloc(size));
    if (block == nullptr) return nullptr;
    if (!touch(counted, block, 0, size)) {
      std::free(block);
      return nullptr;
    }
    if (old != nullptr) std::memcpy(block, old, std::min(old_size, size));
    std::free(old);
    counted.used += size - old_size;
    return block;
  }
  void* const moved = std::realloc(old, size);
  if (moved != nullptr) counted.used += size - old_size;
  return moved;
}

LuaState::LuaState(const LuaOptions& options) {
  memory_.most = options.memory_most;
  lua_ = lua_newstate(allocate, &memory_);
  if (lua_ == nullptr) throw std::bad_alloc();
  lua_atpanic(lua_, panic);
  luaJIT_setmode(lua_, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  open_libraries(options.insecure);
}

LuaState::~LuaState() { lua_close(lua_); }

void LuaState::open_libraries(bool insecure) {
  open_library(lua_, luaopen_base, "");
  open_library(lua_, luaopen_table, LUA_TABLIBNAME);
  open_library(lua_, luaopen_string, LUA_STRLIBNAME);
  open_library(lua_, luaopen_math, LUA_MATHLIBNAME);
  open_library(lua_, luaopen_os, LUA_OSLIBNAME);
  open_library(lua_, luaopen_bit, LUA_BITLIBNAME);
  replace_in(lua_, LUA_COLIBNAME, replace_coroutines);
  replace_in(lua_, LUA_MATHLIBNAME, replace_random);
  replace_in(lua_, LUA_STRLIBNAME, replace_string);
  replace_in(lua_, LUA_STRLIBNAME, replace_text);
  replace_in(lua_, LUA_TABLIBNAME, replace_table);

  const std::string_view code = kLuaPrelude;
  if (luaL_loadbufferx(lua_, code.data(), code.size(), "@prelude", "t") != 0) {
    throw std::logic_error(std::string(text_at(lua_, -1)));
  }
  lua_pushvalue(lua_, LUA_GLOBALSINDEX);
  lua_pushboolean(lua_, insecure ? 1 : 0);
  push_load(lua_);
  push_collect(lua_);
  push_to_number(lua_);
  push_insert(lua_);
  if (lua_pcall(lua_, 6, 4, 0) != 0) throw std::logic_error(std::string(text_at(lua_, -1)));
  missing_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
  freeze_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
  environment_ = luaL_ref(lua_, LUA_REGISTRYINDEX);
  globals_ = luaL_ref(lua_, LUA_REGISTRYINDEX);

  push_cjson(lua_);
  add_table("cjson");
  push_cmsgpack(lua_);
  add_table("cmsgpack");
  push_struct(lua_);
  add_table("struct");
}

void LuaState::freeze() {
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, freeze_);
  lua_insert(lua_, -2);
  lua_call(lua_, 1, 1);
}

void LuaState::add_table(std::string_view name) {
  freeze();
  set_global(std::string(name).c_str());
}

void LuaState::set_global(const char* name) {
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, globals_);
  lua_insert(lua_, -2);
  lua_pushstring(lua_, name);
  lua_insert(lua_, -2);
  lua_rawset(lua_, -3);
  lua_pop(lua_, 1);
}

void LuaState::set_missing_error() {
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, missing_);
  lua_setmetatable(lua_, -2);
}

void LuaState::push_globals() { lua_rawgeti(lua_, LUA_REGISTRYINDEX, globals_); }

void LuaState::push_environment() {
  push_globals();
  freeze();
}

void LuaState::set_environment_source(int index) {
  const int environment = index < 0 ? lua_gettop(lua_) + index + 1 : index;
  lua_getmetatable(lua_, environment);
  lua_insert(lua_, -2);
  lua_setfield(lua_, -2, "__index");
  lua_pop(lua_, 1);
}

Status LuaState::load(std::string_view code, const char* chunk_name) {
  if (!load_in_pieces(lua_, code, chunk_name)) {
    if (lua_istable(lua_, -1)) {  // of the hook
      lua_pushliteral(lua_, "err");
      lua_rawget(lua_, -2);
      lua_replace(lua_, -2);
    }
    Error error{Code::invalid, std::string(text_at(lua_, -1))};
    lua_pop(lua_, 1);
    return error;
  }
  lua_rawgeti(lua_, LUA_REGISTRYINDEX, environment_);
  lua_setfenv(lua_, -2);
  return Done{};
}

void LuaState::limit_memory(bool limited) {
  memory_.is_limited = limited;
  memory_.refuses_large = false;
  if (!limited) collect_slowly();
}

bool LuaState::has_much_garbage() const {
  constexpr std::size_t kGarbageMost = std::size_t{16} << 20;
  return memory_.used > memory_.most / 2 || memory_.used > collected_bytes_ + kGarbageMost;
}

// Garbage that is newer than the cycle under way is found by the next cycle.
void LuaState::collect_slowly() {
  if (!has_much_garbage()) return;
  for (int cycle = 0; cycle < 2 && has_much_garbage(); ++cycle) {
    while (lua_gc(lua_, LUA_GCSTEP, 0) == 0) {
      if (memory_.pause != nullptr && memory_.work.is_due()) memory_.pause(memory_.pause_context);
    }
  }
  collected_bytes_ = memory_.used;
}

void LuaState::interrupt_every(int instructions, lua_Hook hook) {
  lua_sethook(lua_, instructions == 0 ? nullptr : hook, instructions == 0 ? 0 : LUA_MASKCOUNT,
              instructions);
}

}  // namespace mayfly
