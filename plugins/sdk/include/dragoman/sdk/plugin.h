#pragma once

#include <dragoman/decoding/logits_processor.h>
#include <dragoman/decoding/strategy.h>
#include <dragoman/nn/layers.h>
#include <dragoman/nn/positions.h>
#include <dragoman/nn/seq2seq_model.h>
#include <dragoman/pipeline_api/stage.h>
#include <dragoman/sdk/descriptor.h>
#include <dragoman/sdk/fingerprint.h>
#include <dragoman/sdk/registrar.h>
#include <dragoman/tokenizer/tokenizer.h>

/// The entry point of a plugin: once per shared library, in one source file, outside of any namespace.
///
///     void register_mine(dragoman::plugins::Registrar& registrar) { registrar.add(...); }
///     DRAGOMAN_PLUGIN("mine", "Apache-2.0", register_mine)
#define DRAGOMAN_PLUGIN(plugin_name, plugin_licence, register_function)                                           \
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
