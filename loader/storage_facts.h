// What this process can tell of the storage that it reads from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/loader/dataset.h"

namespace penstock {

// Bytes that the process has had read from storage, by the kernel's count
// (/proc/self/io); some network file systems are not counted. 0: unknown.
double storage_bytes_read();

// Of the file system that path is on: "ext4", "nfs"; "" unknown.
std::string filesystem_of(const std::string& path);
// Whether its pages can be dropped from the page cache: not where the cache is
// all there is.
bool keeps_files_in_memory(const std::string& filesystem);

// Of all samples, from the sizes of some spread over them; 0 where none can be
// looked at.
double bytes_of_samples(const Dataset& dataset);

// Bytes/s at which one thread reads samples, one after the other, for at most
// kMemoryRead_s: from memory, where they are cached. 0: none can be read.
double read_bytes_per_s(const Dataset& dataset,
                        const std::vector<uint64_t>& samples);
inline constexpr double kMemoryRead_s = 0.2;

// Page cache that the process's files may have: what its memory cgroup and the
// machine leave, cache that could be given up included.
double cache_room_bytes();

}  // namespace penstock
