#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include <dragoman/plugins/registry.h>
#include <dragoman/tokenizer/tokenizer.h>
#include <dragoman/tokenizer/tokenizer_spec.h>

namespace dragoman::plugins {

/// Opens the tokenizer of a file. The kind is the registered kind that `spec` names. If it names none, it is the
/// built-in kind that the file's content indicates. Error{kIo} if the file cannot be read. Error{kInvalidArgument},
/// with the nearest name, for a type that is not registered. Error{kBadInput} for unknown options of the kind.
/// Otherwise throws the errors of its factory.
///
///     const auto tokenizer = open_tokenizer(default_host().registry(), "source.spm");     // host.h
///     std::cout << tokenizer->size();
///
/// The functions of this header are thread-safe.
std::unique_ptr<tokenizer::Tokenizer> open_tokenizer(const Registry& registry, const std::filesystem::path& file,
                                                     const tokenizer::TokenizerSpec& spec = {});

/// Creates a tokenizer from a file that the caller has read. A spec without a type means a tokenizer.json.
std::unique_ptr<tokenizer::Tokenizer> make_tokenizer(const Registry& registry, const tokenizer::TokenizerSpec& spec,
                                                     const tokenizer::TokenizerFile& file);

}  // namespace dragoman::plugins
