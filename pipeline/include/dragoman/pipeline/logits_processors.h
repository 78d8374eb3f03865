#pragma once

#include <string>

#include <dragoman/core/json_fwd.h>
#include <dragoman/decoding/search_plan.h>
#include <dragoman/plugins/registry.h>

namespace dragoman::pipeline {

/// Returns a function that creates registered logits processors. `named` is an object: the name of each processor and
/// its options, an object. `where` begins messages. Error{kInvalidArgument}, with the nearest name, for a processor
/// that is not registered. Empty if `named` is. Thread-safe; the registry need not outlive the result.
///
///     const core::Json named{{"no-repeats", core::Json::object()}};                       // core/json.h
///     const auto make = make_processors(named, plugins::default_host().registry(), "options");     // host.h
decoding::SearchPlan::MakeProcessors make_processors(const core::Json& named, const plugins::Registry& registry,
                                                     const std::string& where);

}  // namespace dragoman::pipeline
