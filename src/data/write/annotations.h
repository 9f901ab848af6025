// Annotations of raw images: classes, class names, boxes. Lists are text files; Error(data) names file and line of a
// line that cannot be parsed.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "data/write/shard_writer.h"

namespace cnntrain::data {

/// The file name of a path, without extension.
std::string_view stem_of(std::string_view path);

struct LabelLine {
    std::string path;  // "" in a list of classes only
    std::string class_name;
    std::size_t line = 0;  // counted from 1
};

/// Reads lines "<path><blank, tab or comma><class>" in file order; the last separator counts, because paths may contain
/// blanks. Each path may occur once.
std::vector<LabelLine> read_labels(const std::string& file);

/// Reads either such lines, or one class per line.
std::vector<LabelLine> read_labels_or_classes(const std::string& file);

/// The first word of each line, in label order; each may occur once.
std::vector<std::string> read_classes(const std::string& file);

/// Reads lines "<class><blank or tab><text>"; returns the text by class.
std::map<std::string, std::string, std::less<>> read_class_names(const std::string& file);

struct ImageBox {
    Box box;
    std::string class_name;  // class of the object; "" if not given
};

// The contents of a Pascal VOC annotation file.
struct XmlAnnotation {
    std::string path;  // path of the XML file, relative to the folder
    std::vector<ImageBox> boxes;
};

/// Reads all .xml files in and below the folder, sorted by path. Boxes are relative to the image but may extend beyond
/// it. Error(data) names file and line of malformed XML.
std::vector<XmlAnnotation> read_xml_folder(const std::string& folder, int threads);

/// Boxes of objects by image.
class BoxTable {
public:
    /// Reads a CSV file with lines "<file name>,<xmin>,<ymin>,<xmax>,<ymax>", relative to the image (0..1), or a folder
    /// of Pascal VOC XML files at any depth, one per image with the image's name, and pixel coordinates relative to
    /// <size>. Boxes are clipped to the image; empty boxes are dropped.
    static BoxTable read(const std::string& path, int threads);

    /// The boxes of an image: those for its path (without extension) if there are any, otherwise those for its file
    /// name, if the name is unique in the table and `unique_name` is true (no other image has it).
    const std::vector<ImageBox>& of(std::string_view image_path, bool unique_name) const;

    std::size_t images() const { return boxes_.size(); }
    /// Digest of all contents, for fingerprints.
    std::string digest() const;

private:
    void add(const std::string& key, ImageBox box);

    std::map<std::string, std::vector<ImageBox>, std::less<>> boxes_;  // by path without extension
    std::map<std::string, std::string, std::less<>> keys_;             // key of boxes_ by file name; "" if not unique
};

}  // namespace cnntrain::data
