#include "twice.h"

#include <dragoman/core/json.h>
#include <dragoman/plugins/plugin.h>

namespace {

using namespace dragoman;

std::unique_ptr<nn::Seq2SeqModel> no_model(const nn::SequenceSpec&, const core::Json&) {
  return nullptr;
}

/// The second model's name belongs to a built-in one; the first model and the kernel are new.
void register_duplicate(plugins::Registrar& registrar) {
  registrar.add_kernel("cpu", planted::kTwice, [](tensor::Context&, const planted::TwiceArguments&) {});
  registrar.add(plugins::ModelEntry{"newcomer", "a new name", no_model, {}});
  registrar.add(plugins::ModelEntry{"transformer", "a taken name", no_model, {}});
}

}  // namespace

DRAGOMAN_PLUGIN("duplicate", "MIT", register_duplicate)
