#pragma once

#include <dragoman/decoding/logits_processor.h>
#include <dragoman/decoding/strategy.h>
#include <dragoman/nn/layers.h>
#include <dragoman/nn/positions.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/pipeline_api/stage.h>
#include <dragoman/plugins/descriptor.h>
#include <dragoman/plugins/fingerprint.h>
#include <dragoman/plugins/note.h>
#include <dragoman/plugins/registrar.h>
#include <dragoman/tokenizer/tokenizer.h>

/// Defines the entry point of a plugin. Use it once per shared library, in one source file, outside any namespace.
///
///     class Shout final : public dragoman::pipeline::MapStage {     // pipeline_api/stage.h
///       void process(dragoman::pipeline::Record& record) const override { record.text += "!"; }
///     };
///
///     void register_mine(dragoman::plugins::Registrar& registrar) {
///       const auto make = [](dragoman::core::OptionReader&) { return std::make_unique<Shout>(); };
///       registrar.add(dragoman::plugins::StageEntry{"shout", "appends an exclamation mark", make});
///     }
///
///     DRAGOMAN_PLUGIN("mine", "Apache-2.0", register_mine)
///
/// The host calls the register function once, on the thread that loads the plugin. An exception from it rejects the
/// plugin. The library stays loaded until the process ends.
///
/// Name and licence must be literals. They are also stored in a note of the file, which can be read without running
/// code.
#define DRAGOMAN_PLUGIN(plugin_name, plugin_licence, register_function)                                           \
  [[gnu::used, gnu::section(".note.dragoman"), gnu::aligned(4)]] static constexpr auto dragoman_plugin_note =     \
      dragoman::plugins::make_note<dragoman::plugins::description_bytes(                                          \
          {dragoman::plugins::kFingerprint, dragoman::plugins::kToolkitVersion, plugin_name, plugin_licence})>(   \
          {dragoman::plugins::kFingerprint, dragoman::plugins::kToolkitVersion, plugin_name, plugin_licence});    \
  extern "C" __attribute__((visibility("default"))) const dragoman::plugins::PluginDescriptor*                    \
  dragoman_plugin_query() {                                                                                       \
    static constexpr dragoman::plugins::PluginDescriptor kDescriptor{sizeof(dragoman::plugins::PluginDescriptor), \
                                                                     dragoman::plugins::kPluginMagic,             \
                                                                     dragoman::plugins::kFingerprint,             \
                                                                     dragoman::plugins::kToolkitVersion.data(),   \
                                                                     plugin_name,                                 \
                                                                     plugin_licence,                              \
                                                                     register_function};                          \
    return &kDescriptor;                                                                                          \
  }
