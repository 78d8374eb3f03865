#include <numpy_arrays.h>

#include <dragoman/plugins/plugin.h>

namespace {

using namespace dragoman;

/// The importer of examples/plugin.
void register_arrays(plugins::Registrar& registrar) {
  registrar.add(plugins::ModelImporterEntry{"numpy-arrays", "weights as NumPy arrays", example::open_numpy_arrays,
                                            example::is_folder_of_numpy_arrays, example::write_numpy_arrays_example});
}

}  // namespace

DRAGOMAN_PLUGIN("arrays", "Apache-2.0", register_arrays)
