#pragma once

#include "dragoman/plugins/host.h"

#include <memory>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::plugins {

/// Loads the plugin, if there is a name. Error{kInvalidArgument} that says what needs it, `user` at `where`, if it is
/// not loaded and may not be.
void require_plugin(const std::string& plugin, std::string_view user, const std::string& where, Host& host,
                    bool may_load);

/// A model of a registered type, without weights. Error{kBadInput} that names `where`.
std::unique_ptr<nn::Seq2SeqModel> make_empty_model(const std::string& type, const nn::SequenceSpec& sequences,
                                                   const core::Json& own, const std::string& where,
                                                   const Registry& registry);

}  // namespace dragoman::plugins
