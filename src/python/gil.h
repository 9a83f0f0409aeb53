// SPDX-License-Identifier: Apache-2.0
// Letting go of the GIL and taking it again, also when the interpreter is about to end.
//
// A daemon thread that asks for the GIL when the interpreter ends is itself ended right there, by
// unwinding its stack: C++ destructors would then touch Python objects without the GIL. So when the
// end comes such threads are not let back in: they stay where they are until the process is gone.

#pragma once

#include <Python.h>

namespace mayfly {

// The GIL for a thread that Python may not know. Counts as taking it.
PyGILState_STATE enter_python();

// What PyEval_SaveThread() let go of.
void take_gil(PyThreadState* state);

// Runs `work()`, which must not touch Python, without the GIL, and returns what it returns.
template <class Work>
auto without_gil(Work work) {
  PyThreadState* const state = PyEval_SaveThread();
  const auto result = work();
  take_gil(state);
  return result;
}

// From now on only this thread gets the GIL back. Waits for those that are about to. To be called
// with the GIL, once, before the interpreter ends.
void prepare_exit();

// In the child of a fork(), which has no other threads.
void forget_other_threads();

}  // namespace mayfly
