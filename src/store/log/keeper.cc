// SPDX-License-Identifier: Apache-2.0
#include "store/log/keeper.h"

#include <utility>

namespace mayfly {

Keeper::Keeper(const Clock& clock, std::function<Time()> tend)
    : alarm_(clock), tend_(std::move(tend)), thread_([this] { run(); }) {}

Keeper::~Keeper() {
  is_stopping_ = true;
  alarm_.ring();
  thread_.join();
}

void Keeper::run() {
  while (!is_stopping_) alarm_.sleep_until(tend_());
}

}  // namespace mayfly
