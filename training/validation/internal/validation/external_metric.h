#pragma once

#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include <dragoman/training/config.h>

namespace dragoman::training {

/// Files with the translations of a text, the text and its references, line by line.
struct ScoredFiles {
  std::filesystem::path hypotheses;
  std::filesystem::path references;
  std::filesystem::path sources;
};

/// The last number that the program prints, alone in a line or behind other words: its last line that is not empty ends
/// with it. Error{kIo} that says what happened if it cannot be started, runs for too long, fails, or prints no number;
/// Error{kInterrupted} if `stop` asks.
double measure(const ExternalMetric& metric, const ScoredFiles& files, const std::stop_token& stop);

/// Writes a text with a line for each of `lines`: what would end a line within one becomes a space. Links are not
/// followed.
void write_lines(const std::filesystem::path& file, const std::vector<std::string>& lines);

}  // namespace dragoman::training
