#include "bench/lmdb/rank_result.h"

#include <nlohmann/json.hpp>

#include "common/checksum.h"

namespace penstock::lmdb {

void RankResult::add(std::span<const uint8_t> value) {
  ++records;
  bytes += value.size();
  checksum += penstock::checksum(
      {reinterpret_cast<const char*>(value.data()), value.size()});
}

std::string result_line(int rank, const RankResult& result) {
  const nlohmann::json line{{"rank", rank},
                            {"records", result.records},
                            {"bytes", result.bytes},
                            {"checksum", result.checksum},
                            {"open_s", result.open_s},
                            {"seconds", result.seconds},
                            {"cpu_s", result.cpu_s},
                            {"read_bytes", result.counts.read_bytes},
                            {"requests", result.counts.requests},
                            {"read_chunks", result.counts.read_chunks},
                            {"mapped_chunks", result.counts.mapped_chunks},
                            {"buffer_bytes", result.facts.buffer_bytes},
                            {"chunk_steps", result.facts.chunk_steps},
                            {"is_reading", result.facts.is_reading},
                            {"is_direct", result.facts.is_direct},
                            {"is_from_sidecar", result.facts.is_from_sidecar},
                            {"sidecar_refusal", result.facts.sidecar_refusal},
                            {"index_s", result.facts.index_s}};
  return line.dump() + "\n";
}

std::string error_line(int rank, const Error& error) {
  return nlohmann::json{{"rank", rank}, {"error", error.message}}.dump() + "\n";
}

}  // namespace penstock::lmdb
