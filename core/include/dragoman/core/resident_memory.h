#pragma once

#include <cstdint>

namespace dragoman::core {

/// Bytes of this process that are in memory now; 0 where the system does not say. Any thread.
std::uint64_t resident_memory() noexcept;

}  // namespace dragoman::core
