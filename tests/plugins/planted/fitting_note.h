#pragma once

#include <dragoman/plugins/fingerprint.h>
#include <dragoman/plugins/note.h>

/// The note of a plugin that fits this program, whatever else is wrong with the library.
[[gnu::used, gnu::section(".note.dragoman")]] static constexpr auto fitting_note =
    dragoman::plugins::make_note<dragoman::plugins::description_bytes(
        {dragoman::plugins::kFingerprint, dragoman::plugins::kToolkitVersion, "planted", "MIT"})>(
        {dragoman::plugins::kFingerprint, dragoman::plugins::kToolkitVersion, "planted", "MIT"});
