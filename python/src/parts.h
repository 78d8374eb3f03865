#pragma once

#include <nanobind/nanobind.h>

namespace dragoman::python {

/// Each adds its part of the interface to the module.
void add_tokenizer(nanobind::module_& module);
void add_library_tokenizer(nanobind::module_& module);
void add_learning(nanobind::module_& module);
void add_model(nanobind::module_& module);
void add_services(nanobind::module_& module);
void add_tokens(nanobind::module_& module);
void add_training(nanobind::module_& module);
void add_evaluation(nanobind::module_& module);
void add_sentencepiece(nanobind::module_& module);
void add_files(nanobind::module_& module);
void add_extensions(nanobind::module_& module);

}  // namespace dragoman::python
