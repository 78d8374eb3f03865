#pragma once

#include "dragoman/plugins/host.h"

#include <memory>
#include <string>

#include <dragoman/core/json.h>
#include <dragoman/formats/model_folder.h>
#include <dragoman/nn/seq2seq_model.h>

namespace dragoman::plugins {

/// Loads the plugin, if `plugin` is not empty. Error{kInvalidArgument} if it is not loaded and must not be. The message
/// names the requirement, `user` at `where`.
void require_plugin(const std::string& plugin, std::string_view user, const std::string& where, Host& host,
                    bool may_load);

/// Creates a model of a registered type, without weights. Error{kBadInput}, which names `where`.
std::unique_ptr<nn::Seq2SeqModel> make_empty_model(const std::string& type, const nn::SequenceSpec& sequences,
                                                   const core::Json& own, const std::string& where,
                                                   const Registry& registry);

/// Creates a model of the type that an opened model names, without weights. Loads the plugin that provides the type
/// first, if allowed.
std::unique_ptr<nn::Seq2SeqModel> make_empty_model(const formats::OpenedModel& opened, Host& host, bool may_load);

/// Returns the content of a model folder that is derived from an opened model, except for weights and reference.
/// `model` provides the configuration. The folder names the plugins that registered its kinds, whatever plugins an
/// importer names.
formats::ModelFolderContent folder_content(const formats::OpenedModel& opened, const nn::Seq2SeqModel& model,
                                           Host& host, bool may_load);

}  // namespace dragoman::plugins
