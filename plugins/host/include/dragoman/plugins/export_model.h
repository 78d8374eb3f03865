#pragma once

#include <filesystem>
#include <string>

#include <dragoman/plugins/host.h>

namespace dragoman::plugins {

/// Writes a model folder in a form of another toolkit (imports::export_formats()). `output` must not exist, or be an
/// empty folder where the form is one; it appears when it is complete. Error{kUnsupported} says what the form cannot
/// express; Error{kInvalidArgument} for an unknown form.
void export_model(const std::filesystem::path& folder, const std::filesystem::path& output, const std::string& format,
                  Host& host);

}  // namespace dragoman::plugins
