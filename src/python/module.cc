// SPDX-License-Identifier: Apache-2.0
// The module `mayfly._mayfly`: the part of the Python package that is C++.

#include "python/binding.h"
#include "python/gil.h"

PYBIND11_MODULE(_mayfly, module) {
  module.doc() = "The part of mayfly that is C++. Use the package `mayfly`.";
  if (!mayfly::import_datetime() || !mayfly::add_exceptions(module.ptr())) {
    throw pybind11::error_already_set();
  }
  module.attr("__version__") = MAYFLY_VERSION;
  mayfly::bind_family(module);
  mayfly::bind_store(module);
  mayfly::bind_iterator(module);
  mayfly::bind_snapshot(module);
  mayfly::bind_cache(module);
  module.def("prepare_exit", mayfly::prepare_exit);
  module.def("forget_other_threads", mayfly::forget_other_threads);
}
