#include "twice.h"

#include <stdexcept>

#include <dragoman/core/options.h>
#include <dragoman/plugins/plugin.h>

namespace {

using namespace dragoman;

void register_halfway(plugins::Registrar& registrar) {
  registrar.add(plugins::StageEntry{"orphan", "must not stay",
                                    [](core::OptionReader&) { return std::unique_ptr<pipeline::MapStage>(); }});
  registrar.add_kernel("cpu", planted::kTwice, [](tensor::Context&, const planted::TwiceArguments&) {});
  throw std::runtime_error("the table of tables is missing");
}

}  // namespace

DRAGOMAN_PLUGIN("throwing", "MIT", register_halfway)
