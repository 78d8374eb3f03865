#pragma once

#include <cstdint>

/// The random streams of a training that depend on its seed. They are in one place so that no two of them overlap:
/// core::random_block() gives each stream its own numbers. A number that is added to one of them (an epoch, an update,
/// a part) is far smaller than the distance to the next stream. The values make a run repeatable: none may change.
/// Dropout uses the streams of ops::random_stream(), with one key per update.
namespace dragoman::training::random_streams {

constexpr std::uint64_t kBlockOrder = std::uint64_t{5} << 59;  ///< + epoch: the order of a corpus's blocks
constexpr std::uint64_t kBlockShare = std::uint64_t{6} << 59;  ///< + block << 32, + epoch: pairs of a block to use
constexpr std::uint64_t kWindow = std::uint64_t{7} << 59;      ///< + window: the seeds of its batches
constexpr std::uint64_t kValidationSample = std::uint64_t{1} << 61;   ///< + validation: the sentences that it shows
constexpr std::uint64_t kSourceWordDropout = std::uint64_t{5} << 61;  ///< + step
constexpr std::uint64_t kTargetWordDropout = std::uint64_t{7} << 61;  ///< + step
constexpr std::uint64_t kPairOrder = std::uint64_t{1} << 62;          ///< + epoch: the order of pairs
constexpr std::uint64_t kBatchOrder = std::uint64_t{1} << 63;         ///< + epoch: the order of batches
constexpr std::uint64_t kPartShare = std::uint64_t{3} << 62;          ///< + part << 32, + epoch: pairs of a text to use
constexpr std::uint64_t kSegmentation = 0x6270652D64726F70U;          ///< + side: segmentations that are drawn

}  // namespace dragoman::training::random_streams
