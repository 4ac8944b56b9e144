// Properties of the storage that this process reads from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/loader/dataset.h"

namespace penstock {

// Bytes that the process has read from storage, by /proc/self/io. The kernel
// does not count some network file systems. 0: unknown.
double storage_bytes_read();

// Type of the file system of `path`, such as "ext4" or "nfs"; "" unknown.
std::string filesystem_of(const std::string& path);
// Whether the file system exists only in memory (tmpfs, ramfs), so that its
// pages cannot be dropped from the page cache.
bool keeps_files_in_memory(const std::string& filesystem);

// Estimated bytes of all samples, from up to 256 samples spread over the
// dataset; 0: none could be opened.
double bytes_of_samples(const Dataset& dataset);

// Rate in bytes/s of one thread that reads the samples in turn through the page
// cache, for about kMemoryRead_s. 0: none could be read.
double read_bytes_per_s(const Dataset& dataset,
                        const std::vector<uint64_t>& samples);
inline constexpr double kMemoryRead_s = 0.2;

// Possible page cache of the process's files: the free memory of its memory
// cgroup and of the machine, including reclaimable cache; the smaller one.
double cache_room_bytes();

}  // namespace penstock
