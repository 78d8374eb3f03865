#pragma once

#include <filesystem>
#include <stop_token>
#include <string>

#include <dragoman/core/log.h>
#include <dragoman/plugins/host.h>

namespace dragoman::plugins {

/// Writes a model in the format of another toolkit (imports::export_formats()). `model` is a model folder, or a model
/// of another toolkit that a registered importer recognises. `output` must not exist, or must be an empty folder if the
/// format is a folder. It appears when it is complete. Error{kUnsupported}, which names the parts, if the format cannot
/// express the model. Error{kInvalidArgument} for an unknown format. Error{kInterrupted} after a stop request; then
/// nothing is written. `log` is warned if the other toolkit computes differently with such a model.
///
///     export_model("models/de-en", "exported", "marian", default_host());     // host.h
void export_model(const std::filesystem::path& model, const std::filesystem::path& output, const std::string& format,
                  Host& host, const std::stop_token& stop = {}, const core::LogSink& log = {});

}  // namespace dragoman::plugins
