#pragma once

#include <string>

#include <nanobind/nanobind.h>

#include <dragoman/dragoman.h>

namespace dragoman::python {

/// Returns the options of `learn_unigram` for keywords as JSON. `character_map` is None, or a serialised map in place
/// of a named one.
LearnUnigramOptions unigram_options(const std::string& json, nanobind::handle character_map);

}  // namespace dragoman::python
