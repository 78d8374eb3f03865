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

/// Runs the program of a metric and returns the last number that it prints: its last line that is not empty ends with
/// the number. Error{kIo} with the reason if the program cannot be started, runs for too long, fails, or prints no
/// number. Error{kInterrupted} after a stop request.
double measure(const ExternalMetric& metric, const ScoredFiles& files, const std::stop_token& stop);

/// Writes a text file with one line for each of `lines`. Line ends within a line become spaces. Links are not followed.
void write_lines(const std::filesystem::path& file, const std::vector<std::string>& lines);

}  // namespace dragoman::training
