// The photos of a user: which files are used, for which split and class, and why others are not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/data/settings.h"
#include "data/sets/encoded_images.h"
#include "data/sets/resolve.h"

namespace cnntrain::data {

// Lists the files of a user's photos by their folders or by a table, without looking into them.

// Files that lie among a user's photos and are not used.

enum class Unused : std::uint8_t {
    not_an_image,
    unread_format,  // of a known format that this build does not read
    empty,
    too_large,
    unreadable,
    missing,    // named in a table, but not there
    repeated,   // named again in a table
    no_class,   // in no class folder
    no_split,   // in no folder of a split
    test_data,  // of a test split
    hidden,
};

struct UnusedFile {
    std::string path;  // or a folder, which ends with '/'
    Unused reason = Unused::not_an_image;
    std::string detail = {};
};

using UnusedFiles = std::vector<UnusedFile>;

/// "3 files are not used: 2 are not images (a.txt, b), 1 is empty (c.jpg)"; "" for none.
std::string unused_text(const UnusedFiles& files);

/// A table with a header: file, reason, detail.
std::string unused_csv(const UnusedFiles& files);

/// The different sets of labels that photos have; a photo has the number of its set.
using LabelSets = std::vector<std::vector<std::int32_t>>;

struct ListedPhoto {
    std::string path;               // below PhotoListing::top, for open_in_tar()
    std::size_t class_number = 0;   // in PhotoListing::classes, or in label_sets
    std::optional<Split> split;     // nothing: the photo goes to one of them by the validation fraction
    std::uint64_t bytes = 0;        // of the file; 0 until it was looked at
    std::int64_t shorter_side = 0;  // pixels of the image, as its header says; 0: unknown
};

/// The layouts of photos:
/// - a folder with train/, and one of validation/, valid/ and val/, each with a folder for each class;
/// - the same without validation photos: a share of the training photos is held out;
/// - a folder with a folder for each class: a share is held out. A folder named as a validation or test split is that
///   split alone;
/// - tar archives, in a folder or alone, or in train/ and validation/: shards in WebDataset's layout, in which a sample
///   has an image and its class ("0001.jpg" and "0001.cls", or a field of "0001.json"); a photo without these is of the
///   class that its folder in the archive names. A word of an archive's name (train, val, test) is its split;
/// - a table of files, classes and, if it has them, splits (.csv, .tsv or .jsonl). With several labels a photo, a cell
///   has any number of them, a line of JSON a list, or each label a column of 0 and 1.
/// Photos may lie deeper in a class folder, unless it is not clear which folder is the class.
struct PhotoListing {
    std::string top;
    std::vector<std::string> classes;   // sorted
    LabelSets label_sets = {};          // of photos with several labels: numbers in `classes`; else empty
    std::vector<ListedPhoto> photos;    // in no order
    std::array<std::string, 2> places;  // by Split: the folder of classes, or the table
    UnusedFiles unused;
    std::vector<std::string> notices;
    bool holds_out = false;  // there are photos without a split
};

/// Error(data) names the folder, or the table's line.
PhotoListing list_photos(const std::string& place, const TableLabels& labels);

/// True for the name of a table: a .csv, .tsv or .jsonl file.
bool is_photo_table(const std::string& path);
PhotoListing list_photo_table(const std::string& path, const TableLabels& labels);
/// True for the name of a column, or a key, that holds a photo's class; in lower case.
bool names_class_column(std::string_view name);

enum class SplitWord : std::uint8_t { none, train, validation, test };
/// The split that a word stands for, in lower case: train, training, val, valid, validation, test or testing.
SplitWord split_word(std::string_view word);

/// True for a tar archive, and for a folder that holds some.
bool is_shards(const std::string& place);
/// True if one of the archives is of validation, by its name.
bool names_validation_shards(const std::string& place);
PhotoListing list_shards(const std::string& place);

/// Photos of a split with their labels, in little memory.
class PhotoList {
public:
    std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
    /// The path below PhotoSet::top, ended by '\0'.
    std::string_view path(std::int64_t index) const { return names_.c_str() + entry(index).begin; }
    std::int32_t label(std::int64_t index) const { return entry(index).label; }
    /// Size of the file in bytes when it was looked into; 0: unknown or too large to be counted.
    std::uint32_t bytes(std::int64_t index) const { return entry(index).bytes; }
    std::uint64_t memory_bytes() const { return names_.capacity() + entries_.capacity() * sizeof(Entry); }
    void add(std::string_view path, std::int32_t label, std::uint64_t bytes);

private:
    struct Entry {
        std::uint64_t begin;  // in names_
        std::int32_t label;
        std::uint32_t bytes;
    };
    const Entry& entry(std::int64_t index) const { return entries_[static_cast<std::size_t>(index)]; }

    std::string names_;
    std::vector<Entry> entries_;
};

struct PhotoSet {
    std::string top;                    // photos' paths are relative to it
    std::vector<std::string> classes;   // names by label
    LabelSets label_sets = {};          // with several labels: a photo's label is the number of its set; else empty
    std::array<PhotoList, 2> splits;    // by Split, each sorted by class and path
    std::array<std::string, 2> places;  // the folder or the table of each split
    UnusedFiles unused;
    std::vector<std::string> notices;  // how the photos were divided
    std::int64_t median_side = 0;      // pixels of the shorter side; 0: unknown
    bool of_network = false;           // the classes are a trained network's, of some of which there are photos

    const PhotoList& of(Split split) const { return splits[static_cast<std::size_t>(split)]; }
    const std::string& place(Split split) const { return places[static_cast<std::size_t>(split)]; }
    /// The path of a photo's file.
    std::string file(Split split, std::int64_t index) const;
    /// The name of a photo's class, or those of its labels.
    std::string name_of(std::int32_t label) const;
    /// The number of photos of each class, or with each label, in a split.
    std::vector<std::int64_t> counts(Split split) const;
};

/// Finds the photos of settings.folder, a folder or a table of files. Looks into each file to see if
/// it is an image; of very many files, only into those whose names do not say so. Throws Error(data) if a folder or the
/// table cannot be read, if there are fewer than two classes, or a class that the trained network lacks.
PhotoSet find_photos(const InputSettings& settings);

/// The photos that a run found; it looks for them once.
class FoundPhotos {
public:
    /// The photos of these settings.
    std::shared_ptr<const PhotoSet> get(const InputSettings& settings);
    /// False at the first call for the photos that get() returned last.
    bool was_reported() { return std::exchange(reported_, true); }

private:
    std::mutex mutex_;
    std::string key_;
    std::shared_ptr<const PhotoSet> set_;
    bool reported_ = false;
};

// Checks the photos that a user gives for faults and suspect properties.

/// Throws Error(data) if a class has no training photos.
void check_training_photos(const PhotoSet& photos);

/// Throws Error(data) if there are no photos to validate with.
void check_validation_photos(const PhotoSet& photos);

/// One text each: classes without validation photos, names of classes that differ by case only, very unequal classes.
std::vector<std::string> suspicions(const PhotoSet& photos);

/// Number of the first file with the same content, or its own number, for each file. Reads files whose sizes in `bytes`
/// are equal and not 0, up to a limit of bytes; `limited` is set when that was reached.
std::vector<std::size_t> first_copies(const std::vector<std::uint64_t>& bytes,
                                      const std::function<std::string(std::size_t)>& path, bool& limited);

/// The same photo in both splits, by content; "" if there is none. Reads files of equal size only, up to a limit, and
/// says when it reached that.
std::string copies_text(const PhotoSet& photos);

// Users' own photos: image files in one folder per class, or listed in a table.

/// The label of a photo is the number of its class among the sorted classes, or among those of a trained network.
class ClassFolders final : public EncodedImages {
public:
    /// Throws Error(data) if a class has no photos to train on, or if there are none for validation.
    ClassFolders(std::shared_ptr<const PhotoSet> photos, Split split, const EncodedImageSettings& settings);

    std::int64_t size() const override { return list().size(); }
    std::int32_t label(std::int64_t index, Workspace& /*workspace*/) const override { return list().label(index); }
    /// Each class is a part.
    Origin origin() const override;
    DatasetState state() const override {
        return {.memory_bytes = list().memory_bytes(), .damaged = damaged(), .unused_files = unused_files_};
    }

private:
    const PhotoList& list() const { return photos_->of(split_); }
    Image load(std::int64_t index, Workspace& workspace) const override;
    SamplePlace place(std::int64_t index) const override { return {file_of(index), std::string(list().path(index))}; }
    std::string file_of(std::int64_t index) const override { return photos_->file(split_, index); }
    std::span<const std::int32_t> label_set(std::int32_t label) const override {
        return photos_->label_sets.at(static_cast<std::size_t>(label));
    }
    void count_labels(std::int64_t index, Workspace& workspace, std::span<std::int64_t> counts) const override;

    std::shared_ptr<const PhotoSet> photos_;
    Split split_;
    std::string unused_files_;
};

extern const ImageSet kClassFoldersSet;

}  // namespace cnntrain::data
