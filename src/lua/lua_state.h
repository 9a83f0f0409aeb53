// SPDX-License-Identifier: Apache-2.0
// LuaState: a Lua interpreter whose scripts can reach nothing but what they are given.
//
//   LuaState lua({.memory_most = 1 << 30});
//   lua_newtable(lua.get()); ...                      // functions for scripts
//   lua.add_table("redis");                           // frozen from now on
//   if (Status status = lua.load(script, "@user_script"); !status) ...
//   lua_pcall(lua.get(), 0, 1, 0);
//
// It is LuaJIT, with its compiler switched off: compiled code could not be interrupted, and the
// interpreter alone is faster than that of Lua 5.1. Scripts get the functions of Lua 5.1 without
// files, processes, debugging and bytecode. Those of LuaJIT that could crash or could not be
// interrupted are replaced by ours.
//
//   global    what a script writes to a global variable is an error; so nothing leaks to the next
//   tables    string, math, redis and so on are frozen: a write is an error
//   memory    while it is limited, an allocation beyond `memory_most` is an error of the script
//   time      interrupt_every() calls a function after a number of instructions, and after many
//             steps of a library function (LuaWork); it may raise an error
//
// A frozen table is an empty one that stands for the real one: its metatable leads to it, and has
// no entry that a script could get at.

#pragma once

#include <cstddef>
#include <string_view>

#include "lua/lua_api.h"
#include "lua/lua_work.h"
#include "mayfly/result.h"

namespace mayfly {

struct LuaOptions {
  std::size_t memory_most = std::size_t{1} << 30;
  bool insecure = false;  // with getfenv, setfenv and newproxy, for old scripts
};

class LuaState {
 public:
  explicit LuaState(const LuaOptions& options = {});
  ~LuaState();
  LuaState(const LuaState&) = delete;
  LuaState& operator=(const LuaState&) = delete;

  lua_State* get() const { return lua_; }
  std::size_t bytes() const { return memory_.used; }  // that Lua has allocated

  // Makes the table on the top a frozen global of that name, and pops it.
  void add_table(std::string_view name);

  // Sets a global that scripts see, to the value on the top, and pops it. Not frozen.
  void set_global(const char* name);

  // Replaces the table on the top by its frozen form.
  void freeze();

  // A field that the table on the top does not have is an error for scripts from now on.
  void set_missing_error();

  void push_globals();  // the table that environments show

  // Pushes a new environment for scripts, as a frozen table that shows the globals.
  // `set_environment_source` changes what an environment shows, to the table on the top, which it
  // pops. REQUIRES: the environment is at that index.
  void push_environment();
  void set_environment_source(int index);

  // Compiles text, never bytecode, and pushes the function, in the environment of scripts. The hook
  // may end it with an error, and the limit of memory holds if it is on.
  Status load(std::string_view code, const char* chunk_name);

  void set_memory_most(std::size_t bytes) { memory_.most = bytes; }

  // Whether an allocation may fail. Only code in lua_pcall() may run while it may. When the limit
  // is lifted, collect_slowly() is called.
  void limit_memory(bool limited);

  // Collects garbage if there may be much: more than half of the memory is in use, which the next
  // script may want, or some megabytes more than were left the last time. `pause` is called
  // meanwhile (see LuaMemory).
  void collect_slowly();

  // As limit_memory(false), without collecting.
  void lift_limit() { memory_.is_limited = false; }

  // Calls `hook` after every so many instructions; 0: no more.
  void interrupt_every(int instructions, lua_Hook hook);

  // The work of this state, and a function that is called while a large block is prepared; see
  // LuaMemory.
  LuaWork& work() { return memory_.work; }
  void set_pause(bool (*pause)(void*), void* context) {
    memory_.pause = pause;
    memory_.pause_context = context;
  }

  // Frees what is not in use, a bit at a time.
  void collect_some() { lua_gc(lua_, LUA_GCSTEP, 1); }
  void collect_all() { lua_gc(lua_, LUA_GCCOLLECT, 0); }

 private:
  static void* allocate(void* memory, void* old, std::size_t old_size, std::size_t size);

  static int panic(lua_State* lua);
  static bool is_large_table(std::size_t size);
  static bool touch(LuaMemory& counted, char* block, std::size_t from, std::size_t size);

  void open_libraries(bool insecure);
  bool has_much_garbage() const;

  LuaMemory memory_;
  std::size_t collected_bytes_ = 0;  // in use after the last time that all garbage was collected
  lua_State* lua_;
  int environment_ = 0;  // of scripts, in the registry
  int globals_ = 0;      // that it shows
  int freeze_ = 0;       // the function that freezes
  int missing_ = 0;      // the metatable of tables whose missing fields are errors
};

// Libraries that are ours; each pushes its table.
void push_cjson(lua_State* lua);
void push_cmsgpack(lua_State* lua);
void push_struct(lua_State* lua);

// Each replaces functions of the library on the top.
void replace_coroutines(lua_State* lua);
void replace_random(lua_State* lua);
void replace_string(lua_State* lua);
void replace_text(lua_State* lua);
void replace_table(lua_State* lua);

// As lua_loadx(), of text: pushes the function, or the error and returns false. It is compiled in
// pieces, between which the hook may raise an error.
bool load_in_pieces(lua_State* lua, std::string_view code, const char* name);

// Each pushes a function for the prelude.
void push_load(lua_State* lua);
void push_collect(lua_State* lua);
void push_to_number(lua_State* lua);
void push_insert(lua_State* lua);

}  // namespace mayfly
