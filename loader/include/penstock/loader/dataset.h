// What there is to load: samples by number, whatever they are stored in.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "penstock/loader/read_mode.h"
#include "penstock/result.h"

namespace penstock {

inline constexpr int64_t kNoLabel = -1;

// Reads samples into a buffer that is used again; one per thread. Its dataset
// must outlive it.
class SampleReader {
 public:
  virtual ~SampleReader() = default;

  // Finds sample `index` and returns how many bytes read() will read. Between
  // both the caller may wait for bandwidth.
  // REQUIRES: index < the dataset's size.
  // Errors: kNotFound, kPermissionDenied, kIo; kInvalidArgument  not what the
  //         dataset found when it was opened, empty, or over 1 GiB;
  //         kUnavailable  the file system refuses O_DIRECT. They name the
  //         sample.
  [[nodiscard]] virtual Result<uint64_t> open(uint64_t index,
                                              SampleSource source) = 0;

  // The sample's bytes, valid until the next open().
  // REQUIRES: open() succeeded, and nothing was read since.
  // Errors: kIo; kLimit  no memory; kInvalidArgument  a shard or a file of
  //         records was written to; kUnavailable  a database was. They name the
  //         sample.
  [[nodiscard]] virtual Result<std::span<const uint8_t>> read() = 0;

  // Of the sample that read() gave, where it stands in what was read;
  // kNoLabel: Dataset::label() knows it, if anyone does.
  virtual int64_t label() const { return kNoLabel; }

  // Of the sample that open() found, and then read() gave: it comes from a
  // cache of ours, and takes none of the storage's bandwidth.
  virtual bool is_cached() const { return false; }
  // And that is another node's.
  virtual bool is_from_peer() const { return false; }
};

// Immutable, and so for any number of threads.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual uint64_t size() const = 0;  // samples, >= 1

  // kNoLabel: it has none, it is only known once the sample is read, or where
  // it stands cannot be read. Batches have a sample's label from its reader,
  // with which the sample is a broken one then.
  // REQUIRES: index < size().
  virtual int64_t label(uint64_t index) const = 0;

  // What messages call a sample: its file, and where it stands in there.
  // REQUIRES: index < size().
  virtual std::string name(uint64_t index) const = 0;

  // The folder or the (first) file that the samples are in.
  virtual const std::string& path() const = 0;

  // Of what was there when it was opened: names and order of the samples, and
  // size and time of change of the files that hold them; of a folder's pictures
  // their folders' times, so that what is written anew in place is not told.
  virtual uint64_t fingerprint() const = 0;

  // 0: samples are files of a picture format, told by their first bytes. Else
  // each is a tensor of so many bytes, as it stands.
  virtual uint64_t tensor_bytes() const { return 0; }

  // That are in a cache of ours now.
  virtual uint64_t cached_samples() const { return 0; }

  virtual std::unique_ptr<SampleReader> new_reader(ReadMode mode) const = 0;
};

// The pictures below a folder (.jpg, .jpeg, .png, .webp, .ppm, in any case),
// in byte order of their paths. Labels are as torchvision's ImageFolder has
// them: the number of the folder's sub-folder that the picture is somewhere
// below, sub-folders in byte order; kNoLabel for those in the folder itself.
// Symbolic links to folders are followed for these sub-folders only.
// Errors: kNotFound  no such folder, or no such file in it
//         kIo, kPermissionDenied  a folder in it cannot be read, or something
//         cannot be looked at; links to nothing are passed over
[[nodiscard]] Result<std::shared_ptr<const Dataset>> open_folder(
    const std::string& folder);

// The samples of tar shards as WebDataset writes them (ustar, pax, GNU tar), in
// the shards' order: members that stand together and share a key, the name up
// to the first dot behind its last '/', are one sample. Its picture is the
// first member with a picture's ending, its label the number in KEY.cls.
// Members without a key, and samples without a picture, are passed over. Reads
// every header of every shard, and nothing of the pictures.
// Errors: kNotFound  no such file, or no picture in any
//         kInvalidArgument  no path, no regular file; no tar, damaged or cut
//         short, naming file and offset; a label that is no number from 0 to
//         2^31 - 1; sparse files; two members of one name in a sample
//         kIo, kPermissionDenied
[[nodiscard]] Result<std::shared_ptr<const Dataset>> open_tar_shards(
    const std::vector<std::string>& paths);

// A header, then records one behind the other; each is its label, little-endian
// and unsigned, and then its tensor.
struct RecordLayout {
  uint64_t record_bytes = 0;  // with its label; up to 1 GiB
  uint64_t label_bytes = 0;   // 0 to 4; 0: none
  uint64_t header_bytes = 0;  // of the file
};
// Errors: kInvalidArgument  a layout out of its range, no regular file, or one
//         that is not a header and whole records, at least one
//         kNotFound, kIo, kPermissionDenied
[[nodiscard]] Result<std::shared_ptr<const Dataset>> open_records(
    const std::string& path, const RecordLayout& layout);

// The values of an LMDB database's records, whole files of a picture format, in
// the order of their keys. path: a folder with data.mdb, or a data file
// (MDB_NOSUBDIR). Labels are those in keys as `penstock lmdb import` writes
// them: eight digits, "/" and the label; other keys have none. Takes places and
// labels from the index beside the database where it belongs to it, else walks
// the tree: 12 bytes of memory a record of irregular size, 4 where there are
// labels.
// A database that is written to while it is read fails its readers: after each
// read the time of change and the meta pages are looked at. Reading errors
// beside those of SampleReader: kUnavailable  the database was written to.
// Errors: kNotFound  no such file, or no record in it
//         kInvalidArgument  no LMDB database, or of a kind that is not read
//         kUnavailable  it is being written
//         kIo  damaged or truncated; kPermissionDenied
[[nodiscard]] Result<std::shared_ptr<const Dataset>> open_lmdb(
    const std::string& path);

// Tells by what the paths are: records where a layout is given, else one LMDB
// database, else a folder, else tar shards whose names all end in .tar.
// Errors: those of the above; kInvalidArgument  none of them
[[nodiscard]] Result<std::shared_ptr<const Dataset>> open_dataset(
    const std::vector<std::string>& paths,
    const std::optional<RecordLayout>& records = std::nullopt);

}  // namespace penstock
