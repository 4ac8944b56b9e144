// Datasets: samples by index, independent of their storage format.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/loader/facts.h"
#include "penstock/loader/read_mode.h"
#include "penstock/result.h"

namespace penstock {

inline constexpr int64_t kNoLabel = -1;

// Reads samples into a reused buffer. One per thread. Its dataset must outlive
// it.
class SampleReader {
 public:
  virtual ~SampleReader() = default;

  // Finds sample `index` and returns the number of bytes that read() will read.
  // The caller may wait for bandwidth before read().
  // REQUIRES: index < the dataset's size.
  // Errors, which name the sample:
  //         kNotFound, kPermissionDenied, kIo
  //         kInvalidArgument  changed since the dataset was opened, empty, or
  //         over 1 GiB
  //         kUnavailable  the file system refuses O_DIRECT
  [[nodiscard]] virtual Result<uint64_t> open(uint64_t index,
                                              SampleSource source) = 0;

  // The sample's bytes, valid until the next open().
  // REQUIRES: open() succeeded, and read() was not called since.
  // Errors, which name the sample: kIo; kLimit  no memory;
  //         kInvalidArgument  a shard or a file of records was modified
  //         kUnavailable  a database was modified
  [[nodiscard]] virtual Result<std::span<const uint8_t>> read() = 0;

  // Label of the sample just read, if it is stored with the sample. kNoLabel:
  // use Dataset::label().
  virtual int64_t label() const { return kNoLabel; }

  // Whether the opened or just read sample comes from a Penstock cache, and so
  // takes no storage bandwidth.
  virtual bool is_cached() const { return false; }
  // Whether it comes from another node's cache.
  virtual bool is_from_peer() const { return false; }
};

// Immutable, so thread-safe.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual uint64_t size() const = 0;  // samples, >= 1

  // kNoLabel: the sample has no label, its label is known only after reading
  // it, or the label source is unreadable. Batches take the label from the
  // sample's reader first; there an unreadable label makes the sample broken.
  // REQUIRES: index < size().
  virtual int64_t label(uint64_t index) const = 0;

  // Name of a sample for messages: its file, and its position in it.
  // REQUIRES: index < size().
  virtual std::string name(uint64_t index) const = 0;

  // The folder or the (first) file that holds the samples.
  virtual const std::string& path() const = 0;

  // Hash of the dataset as it was opened: names and order of the samples, and
  // inode, size and modification time of the files that hold them. For a folder
  // of pictures those of its folders are used: a picture that is overwritten in
  // place goes unnoticed.
  virtual uint64_t fingerprint() const = 0;

  // 0: samples are picture files, whose format is detected from their first
  // bytes. Else each sample is a tensor of this many bytes.
  virtual uint64_t tensor_bytes() const { return 0; }

  // What opening it found. Of caches: of what they cache.
  virtual DatasetFacts facts() const = 0;

  // Number of samples in a Penstock cache now.
  virtual uint64_t cached_samples() const { return 0; }

  virtual std::unique_ptr<SampleReader> new_reader(ReadMode mode) const = 0;
};

// How samples are found in folders and tar shards.
struct SampleRules {
  // Endings of pictures, without a dot, in lower case, such as "jpg" or (in
  // shards) "left.png". The first that a sample has is its picture. Empty: all
  // pictures that the loader reads.
  std::vector<std::string> image;
  std::string label = "cls";  // ending of a shard's labels; "": it has none
  // A shard's key ends before a name's first dot, or its last one.
  enum class Key { kFirstDot, kLastDot } key = Key::kFirstDot;
  bool allow_empty = false;  // classes without a picture
};

// From `image`: "jpg;png". Errors: kInvalidArgument  an empty ending
[[nodiscard]] Result<std::vector<std::string>> parse_endings(
    const std::string& text);

// The pictures below a folder (.jpg, .jpeg, .png, .webp, .ppm, in any case), in
// byte order of their paths. Labels are those of torchvision's ImageFolder: the
// index of the picture's top-level sub-folder, in byte order; kNoLabel for
// pictures in the folder itself. Symbolic links are followed, except to folders
// above themselves. Hidden names are left out, also as classes.
// Errors: kNotFound  no such folder, or no picture in it
//         kInvalidArgument  a class without a picture; pictures of kinds that
//         the loader does not read, unless the rules choose others
//         kIo, kPermissionDenied  a folder or an entry in it is unreadable
[[nodiscard]] Result<std::shared_ptr<const Dataset>> open_folder(
    const std::string& folder, const SampleRules& rules = {});

// The samples of tar shards in WebDataset's format (ustar, pax, GNU tar), in
// the order of the shards. Opening reads every header, and no picture.
//
// A shard's members with the same key are one sample, wherever they are; its
// place is that of the first. The key is the name up to the first dot after its
// last '/'. The picture is the member with a picture's ending; the label is the
// number in KEY.cls, in any case of letters. Members without a key and samples
// without a picture are left out.
// Errors: kNotFound  no such file, or no picture in any
//         kInvalidArgument  no path; not a regular file; not a tar, damaged or
//         truncated (the message has file and offset); a label that is not a
//         number from 0 to 2^31 - 1; sparse files; two pictures or labels of
//         one key; labels that belong to no picture beside pictures without;
//         pictures of kinds that the loader does not read
//         kIo, kPermissionDenied
[[nodiscard]] Result<std::shared_ptr<const Dataset>> open_tar_shards(
    const std::vector<std::string>& paths, const SampleRules& rules = {});

// A file of a header and adjacent records. A record is a label, little-endian
// and unsigned, and a tensor.
struct RecordLayout {
  uint64_t record_bytes = 0;  // with the label; up to 1 GiB
  uint64_t label_bytes = 0;   // 0 to 4; 0: no label
  uint64_t header_bytes = 0;  // of the file
};
// Errors: kInvalidArgument  a layout out of its range; not a regular file; not
//         a header followed by one or more whole records
//         kNotFound, kIo, kPermissionDenied
[[nodiscard]] Result<std::shared_ptr<const Dataset>> open_records(
    const std::string& path, const RecordLayout& layout);

// An LMDB database whose values are picture files, in the order of their keys.
//   path  a folder with data.mdb, or a data file (MDB_NOSUBDIR)
//
// Labels come from keys of the form that `penstock lmdb import` writes: the
// record's number in the database with eight digits, "/" and the label. Other
// keys have no label.
//
// Positions and labels come from the index beside the database if it matches,
// else from a walk of the tree. Memory: 12 bytes per record of irregular size,
// and 4 per record if there are labels.
//
// Reads fail with kUnavailable once the database is modified: each read checks
// the modification time and the meta pages afterwards.
// Errors: kNotFound  no such file, or no record in it
//         kInvalidArgument  not an LMDB database, or an unsupported kind
//         kUnavailable  it is being written
//         kIo  damaged or truncated; kPermissionDenied
[[nodiscard]] Result<std::shared_ptr<const Dataset>> open_lmdb(
    const std::string& path);

// Chooses the format: records if a layout is given, else one LMDB database,
// else a folder of pictures or of tar shards, else tar shards whose names all
// end in .tar. Paths may have braces and patterns: "{00..12}.tar", "*.tar".
// Errors: those of the functions above; kInvalidArgument  none of the formats
[[nodiscard]] Result<std::shared_ptr<const Dataset>> open_dataset(
    const std::vector<std::string>& paths,
    const std::optional<RecordLayout>& records = std::nullopt,
    const SampleRules& rules = {});

}  // namespace penstock
