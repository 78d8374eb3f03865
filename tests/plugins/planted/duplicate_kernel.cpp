#include "twice.h"

#include <dragoman/core/options.h>
#include <dragoman/ops/elementwise.h>
#include <dragoman/plugins/plugin.h>

namespace {

using namespace dragoman;

/// The first kernel is new, the second one's op has a kernel already.
void register_duplicate(plugins::Registrar& registrar) {
  registrar.add(plugins::StageEntry{"orphan", "must not stay",
                                    [](core::OptionReader&) { return std::unique_ptr<pipeline::MapStage>(); }});
  registrar.add_kernel("cpu", planted::kTwice, [](tensor::Context&, const planted::TwiceArguments&) {});
  registrar.add_kernel("cpu", ops::kAdd, [](tensor::Context&, const ops::AddArguments&) {});
}

}  // namespace

DRAGOMAN_PLUGIN("duplicate_kernel", "MIT", register_duplicate)
