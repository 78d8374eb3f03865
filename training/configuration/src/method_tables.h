#pragma once

#include <dragoman/core/option_table.h>
#include <dragoman/training/config.h>

// The keys of optimisers, schedules and regularisers, and which of them can be combined.
namespace dragoman::training {

core::OptionTable<OptimizerConfig> optimizer_table();
core::OptionTable<ScheduleOptions> schedule_table();
core::OptionTable<WordDropoutConfig> word_dropout_table();
core::OptionTable<LossScaleConfig> loss_scale_table();
core::OptionTable<GuidedAlignmentConfig> guided_alignment_table();
/// Return the names and values of SmoothingKind and of NonFinitePolicy.
std::vector<std::pair<std::string_view, SmoothingKind>> smoothing_kinds();
std::vector<std::pair<std::string_view, NonFinitePolicy>> non_finite_policies();

/// Reads a list of patterns of parameter names; creates the option for it.
std::vector<std::string> read_patterns(core::OptionReader& options, std::string_view key);
core::Option patterns_option(std::string name, std::string help);

/// Error{kBadInput} naming `where` and the key if a setting has no effect or is impossible with the rest of the
/// configuration.
void check_methods(const TrainingConfig& config, const std::string& where);

}  // namespace dragoman::training
