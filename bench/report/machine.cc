// SPDX-License-Identifier: Apache-2.0
#include "bench/report/machine.h"

#include <fstream>
#include <thread>

#include "base/version.h"

namespace mayfly {
namespace {

// Where Linux says it: a line "model name : Intel ...". Elsewhere there is no such file.
std::string processor_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.processor = processor_model();
  machine.cores = std::thread::hardware_concurrency();
#ifdef __clang__
  machine.compiler = "clang " __clang_version__;
#else
  machine.compiler = "g++ " __VERSION__;
#endif
  machine.version = kMayflyVersion;
#ifndef NDEBUG
  machine.has_assertions = true;
#endif
  return machine;
}

}  // namespace mayfly
