// What is known of raw images besides their pixels: classes, names of classes, boxes. Lists are text files; Error(data)
// names file and line of what cannot be read.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "dataset_tools/writing/example_writer.h"

namespace cnntrain::dataset_tools {

/// The file name of a path, without extension.
std::string_view stem_of(std::string_view path);

struct LabelLine {
    std::string path;  // "" in a list of classes only
    std::string class_name;
    std::size_t line = 0;  // counted from 1
};

/// Lines "<path><blank, tab or comma><class>" (the last separator counts: paths may have blanks), in file order, each
/// path once.
std::vector<LabelLine> read_labels(const std::string& file);

/// Either lines as above, or one class in each line.
std::vector<LabelLine> read_labels_or_classes(const std::string& file);

/// The first word of each line, each once; in label order.
std::vector<std::string> read_classes(const std::string& file);

/// Lines "<class><blank or tab><text>": text by class.
std::map<std::string, std::string, std::less<>> read_class_names(const std::string& file);

struct ImageBox {
    ObjectBox box;
    std::string class_name;  // of the object; "" if not given
};

// Pascal VOC annotation files.
struct XmlAnnotation {
    std::string path;  // of the XML file, relative to the folder
    std::vector<ImageBox> boxes;
};

/// Every .xml file in and below the folder, sorted by path. Boxes are relative to the image, but may reach beyond it.
/// Error(data) names file and line of what is malformed.
std::vector<XmlAnnotation> read_xml_folder(const std::string& folder, int threads);

/// Marked objects by image.
class BoxTable {
public:
    /// A CSV file of lines "<file name>,<xmin>,<ymin>,<xmax>,<ymax>", relative to the image (0..1), or a folder with
    /// Pascal VOC XML files at any depth, one for each image and named as it, with pixels relative to their <size>.
    /// Boxes are cut to the image; those without area are dropped.
    static BoxTable read(const std::string& path, int threads);

    /// Boxes of an image: of its path as given (without extension) if there are any, otherwise of its file name if the
    /// table has it once and `unique_name`: no other image has it.
    const std::vector<ImageBox>& of(std::string_view image_path, bool unique_name) const;

    std::size_t images() const { return boxes_.size(); }
    /// Of all contents, for fingerprints.
    std::string digest() const;

private:
    void add(const std::string& key, ImageBox box);

    std::map<std::string, std::vector<ImageBox>, std::less<>> boxes_;  // by path without extension
    std::map<std::string, std::string, std::less<>> keys_;  // of boxes_, by file name; "" where it is not unique
};

}  // namespace cnntrain::dataset_tools
