#pragma once

#include <dragoman/core/option_table.h>
#include <dragoman/training/config.h>

// The keys of optimisers, schedules and regularisers, and which of them go together.
namespace dragoman::training {

core::OptionTable<OptimizerConfig> optimizer_table();
core::OptionTable<ScheduleOptions> schedule_table();
core::OptionTable<WordDropoutConfig> word_dropout_table();
core::OptionTable<LossScaleConfig> loss_scale_table();
core::OptionTable<GuidedAlignmentConfig> guided_alignment_table();
/// Of SmoothingKind and of NonFinitePolicy by their names.
std::vector<std::pair<std::string_view, SmoothingKind>> smoothing_kinds();
std::vector<std::pair<std::string_view, NonFinitePolicy>> non_finite_policies();

/// Patterns of names of parameters in a list, and the option for them.
std::vector<std::string> read_patterns(core::OptionReader& options, std::string_view key);
core::Option patterns_option(std::string name, std::string help);

/// Error{kBadInput} naming `where` and the key for what has no effect with the rest of the configuration, or cannot be.
void check_methods(const TrainingConfig& config, const std::string& where);

}  // namespace dragoman::training
