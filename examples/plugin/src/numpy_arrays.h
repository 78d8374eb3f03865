#pragma once

#include <filesystem>
#include <memory>

#include <dragoman/core/options.h>
#include <dragoman/formats/model_importer.h>

namespace example {

/// Weights as NumPy's `save` writes them, for who has trained in a program of their own: a folder with the config.json
/// and the tokenizer.json of a model folder, and for each parameter one array, NAME.npy, of 32 or 64 bit floats
/// (https://numpy.org/neps/nep-0001-npy-format.html, versions 1 to 3, in C or Fortran order). Option `transpose`
/// (false): weights of linear layers have their inputs first, as x @ W wants them, and are turned.
std::unique_ptr<dragoman::formats::OpenedModel> open_numpy_arrays(const std::filesystem::path& folder,
                                                                  dragoman::core::OptionReader& options);
bool is_folder_of_numpy_arrays(const std::filesystem::path& folder);

/// For the conformance kit.
std::filesystem::path write_numpy_arrays_example(const std::filesystem::path& folder);

}  // namespace example
