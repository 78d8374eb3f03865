#pragma once

#include <nanobind/nanobind.h>

#include <dragoman/dragoman.h>

namespace dragoman::python {

/// Returns the options of `learn_unigram` that keywords name. Raises TypeError for another keyword.
LearnUnigramOptions unigram_options(const nanobind::dict& given);

}  // namespace dragoman::python
