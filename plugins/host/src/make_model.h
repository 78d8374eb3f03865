#pragma once

#include "dragoman/plugins/host.h"

#include <memory>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>
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

/// Makes a model of the type that an opened model names, without weights. Loads the plugin that provides the type
/// first, if allowed.
std::unique_ptr<nn::Seq2SeqModel> make_empty_model(const formats::OpenedModel& opened, Host& host, bool may_load);

/// Returns the content of a model folder that is derived from an opened model, except for weights and reference.
/// `model` gives its configuration. The folder names the plugins that have registered its kinds, whatever plugins an
/// importer names.
formats::ModelFolderContent folder_content(const formats::OpenedModel& opened, const nn::Seq2SeqModel& model,
                                           Host& host, bool may_load);

}  // namespace dragoman::plugins
