// Data set writers for `cnntrain dataset`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace cnntrain::data {

struct GeneratedCifarSettings {
    std::string folder;  // files are written to <folder>/cifar-10-batches-bin
    std::uint64_t seed = 0;
    std::int64_t train_images = 10000;
    std::int64_t test_images = 2000;
    std::int32_t classes = 10;  // 2..10
    bool overwrite = false;     // replace a set that write_generated_cifar() did not write
};

/// Writes a small, learnable set in the CIFAR-10 format. The class is one of five patterns, fine or coarse, on a round
/// patch at a random position. Colours, contrast, tilt and noise are random, so that neither single pixels nor the mean
/// colour reveal the class, and mirroring does not change it. A file generated.txt beside the images says that they are
/// generated. Returns the folder. Throws Error(usage) for impossible counts and for files of another set,
/// Error(storage) if a file cannot be written.
std::string write_generated_cifar(const GeneratedCifarSettings& settings);

inline constexpr std::int64_t kPhotoClasses = 8;

struct GeneratedPhotosSettings {
    std::string folder;
    std::uint64_t seed = 0;
    std::int64_t train_photos = 1200;  // these and the others: at least kPhotoClasses
    std::int64_t validation_photos = 240;
    bool overwrite = false;  // replace photos that were generated with other settings
};

/// Writes JPEG files of shapes to <folder>/train/<class>/ and <folder>/validation/<class>/. The class is the shape:
/// circle, crescent, cross, heart, ring, square, star or triangle. Its place, size, angle and colour, the background,
/// the noise and the size of the photo are random. A hidden file in the folder says that they are generated.
/// What a killed call has written is kept and completed. Throws Error(usage) for too few photos and for a folder with
/// other files, Error(storage) if a file cannot be written.
void write_generated_photos(const GeneratedPhotosSettings& settings);
/// True for a folder in which write_generated_photos() has begun to write.
bool holds_generated_photos(const std::string& folder);

struct ImagenetWriterSettings {
    std::string train_folder;       // raw images; "": no training files
    std::string validation_folder;  // raw images; "": no validation files
    std::string output_folder;

    // Lists are text files; "": none. Paths are relative to the split's folder. The last separator of a line counts.
    std::string train_labels;       // "<path><blank, tab or comma><class>" per line, instead of class folders
    std::string validation_labels;  // the same, or one class per line, in the sorted order of the images
    std::string classes;            // one class per line, in label order; default: all classes, sorted
    std::string synset_names;       // "<class><blank or tab><its name in words>"; default: the class
    std::string bounding_boxes;  // "<file name>,<xmin>,<ymin>,<xmax>,<ymax>" (0..1), or folder of Pascal VOC XML files

    double validation_fraction = 0;        // share of the training images to hold out; needs an empty validation_folder
    std::uint64_t seed = 0;                // of the order and of the held-out images
    std::optional<int> train_shards;       // default: 1024 for as many images as ImageNet has, fewer for fewer images
    std::optional<int> validation_shards;  // default: 128, likewise
    int threads = 1;
    std::optional<std::int64_t> max_skipped;  // default: 1 % of the images, but at least 10
    bool overwrite = false;                   // remove other files of the same names instead of refusing
};

/// Sets the folders to `<raw>/train` and `<raw>/validation` (or `<raw>/val`); in a folder without these, all images are
/// for training. Keeps a validation_folder or validation_labels that is already set. Otherwise, uses
/// `<raw>/synset_labels.txt` as labels if it exists and the validation images are not in class folders. Throws
/// Error(data) if the folder does not exist.
void find_raw_images(const std::string& raw, ImagenetWriterSettings& settings);

struct ConversionProgress {
    std::int64_t done = 0;   // number of sources: images
    std::int64_t kept = 0;   // of these, in files that an earlier run finished
    std::int64_t total = 0;  // number of sources
    std::int64_t skipped = 0;
};

/// Callbacks; each may be empty. Called on the calling thread.
struct ConversionEvents {
    std::function<void(const std::string& text)> notice;  // one line
    std::function<void(const ConversionProgress&)> progress;
    std::function<void(const std::string& path, const std::string& reason)> skipped;
    std::function<bool()> stop_requested;
};

struct ImagenetWriterResult {
    bool interrupted = false;            // stopped by stop_requested; then the counts are those of finished files
    std::int64_t images = 0;             // found
    std::int64_t train_images = 0;       // written
    std::int64_t validation_images = 0;  // written
    std::int64_t converted_png = 0;
    std::int64_t converted_cmyk = 0;
    std::int64_t converted_other = 0;  // from WebP, BMP, GIF, TIFF, HEIC or AVIF
    std::int64_t turned = 0;           // upright, as their Exif data say
    std::int64_t skipped = 0;          // listed in <output_folder>/skipped.txt
    std::int64_t boxes = 0;            // images with at least one box
    std::int64_t classes = 0;
    std::int64_t files_written = 0;
    std::int64_t files_kept = 0;  // finished by an earlier run
    std::uint64_t bytes = 0;
};

/// Converts image files to TFRecords `train-00000-of-01024`..., in an order shuffled with the seed over all classes. An
/// image's class comes from the label file, or from its folder (`n01440764/x.JPEG`), or, for files directly in the
/// given folder, from the name up to the first '_' (`n01440764_tench.JPEG`). Labels are 1..n in the sorted order of all
/// classes, which labels.txt beside the files names. Files of other formats and CMYK JPEGs become RGB JPEGs, images
/// that were stored turned become upright; damaged files are skipped. A stopped job continues where it was and gives
/// the same bytes.
///
/// Throws Error(data) for malformed lists and too many damaged images, Error(usage) for impossible settings and for a
/// folder with files of another conversion, Error(storage) if a file cannot be written.
ImagenetWriterResult write_imagenet_tfrecords(const ImagenetWriterSettings& settings,
                                              const ConversionEvents& events = {});

// Converts text to the TFRecord files of BERT pretraining. Used by `cnntrain dataset bert`.

/// Settings for cutting sequences from documents and masking them.
struct InstanceSettings {
    std::int64_t sequence_length = 128;  // S, including [CLS] and both [SEP]
    std::int64_t max_predictions = 20;   // M: maximum number of masked tokens per sequence
    std::int64_t seed = 1984;
    std::int64_t duplication_factor = 6;      // sweeps over the documents, each with new cuts and masks
    double masked_share = 0.15;               // share of a sequence's tokens, 0..1
    double short_sequence_probability = 0.1;  // probability that a document is cut to a random length below S
};

struct PretrainingWriterSettings {
    std::string input_files;   // patterns of text files, separated by commas, as in matching_files()
    std::string output_files;  // names, separated by commas; record k goes to file k mod n
    std::string vocabulary;    // one WordPiece piece per line
    bool lower_case = false;   // also strips accents; for uncased vocabularies
    InstanceSettings instances = {};
    bool remask = false;              // static layout: masked tokens first
    std::int64_t pad_position = 384;  // position of padding in that layout
    bool packed = false;              // packed layout: a record has as many sequences as fit into S tokens
    int threads = 1;
    bool overwrite = false;  // replace output files of another conversion instead of refusing
};

enum class PretrainingStage { tokenise, plan, write };
struct PretrainingProgress {
    PretrainingStage stage = PretrainingStage::tokenise;
    std::int64_t done = 0;   // bytes of text, documents over all sweeps, or records
    std::int64_t kept = 0;   // of these, done by an earlier run
    std::int64_t total = 0;  // same unit
};

/// Callbacks; each may be empty. They may be called from any thread, but not concurrently.
struct PretrainingWriterEvents {
    std::function<void(const PretrainingProgress&)> progress;
    std::function<bool()> stop_requested;
};

struct PretrainingWriterResult {
    bool interrupted = false;  // stopped by stop_requested; then the other members count finished files only
    // Counts of the text; zeros if all files existed already.
    std::int64_t input_files = 0;
    std::int64_t documents = 0;
    std::int64_t sentences = 0;
    std::int64_t tokens = 0;
    std::int64_t unknown_tokens = 0;  // number of [UNK] tokens

    std::int64_t records = 0;
    std::int64_t sequences = 0;        // in all records
    std::int64_t sequence_tokens = 0;  // of all sequences, without padding; counted in the packed layout only
    std::int64_t random_next = 0;      // sequences with label 1
    std::int64_t masked_tokens = 0;    // in all records
    std::int64_t files_written = 0;
    std::int64_t files_kept = 0;  // finished by an earlier run
    std::uint64_t bytes = 0;
};

/// The text has one sentence per line and blank lines between documents. The records equal those of the reference
/// program with the same seed; in the packed layout, the sequences do. A file is either complete or absent;
/// `<first output file>.conversion.jsonl` lists the finished files. A stopped job continues with the others and gives
/// the same bytes. All tokens of the text and a plan of all records are held in memory (4 bytes per token, 40 per
/// record and 8 per masked token).
///
/// Throws Error(usage) for impossible settings and for output files of another conversion, Error(data) for missing
/// files and for a text without tokens, Error(storage) if a file cannot be written (finished files stay).
PretrainingWriterResult write_pretraining_records(const PretrainingWriterSettings& settings,
                                                  const PretrainingWriterEvents& events = {});

}  // namespace cnntrain::data
