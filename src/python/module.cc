// SPDX-License-Identifier: Apache-2.0
// The module `mayfly._mayfly`: the part of the Python package that is C++.

#include "python/binding.h"
#include "python/handles.h"

PYBIND11_MODULE(_mayfly, module) {
  module.doc() = "The part of mayfly that is C++. Use the package `mayfly`.";
  if (!mayfly::internal::import_datetime() || !mayfly::internal::add_exceptions(module.ptr())) {
    throw pybind11::error_already_set();
  }
  module.attr("__version__") = MAYFLY_VERSION;
  mayfly::internal::bind_family(module);
  mayfly::internal::bind_store(module);
  mayfly::internal::bind_iterator(module);
  mayfly::internal::bind_snapshot(module);
  mayfly::internal::bind_cache(module);
  module.def("prepare_exit", mayfly::internal::prepare_exit);
  module.def("forget_other_threads", mayfly::internal::forget_other_threads);
}
