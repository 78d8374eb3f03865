#pragma once

#include <cstdint>

namespace dragoman::core {

/// Returns the resident memory of this process in bytes, or 0 if the system does not report it. Thread-safe.
std::uint64_t resident_memory() noexcept;

}  // namespace dragoman::core
