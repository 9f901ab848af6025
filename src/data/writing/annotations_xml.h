// Pascal VOC annotation files.
#pragma once

#include <string>
#include <vector>

#include "data/writing/annotations.h"

namespace cnntrain::data {

struct XmlAnnotation {
    std::string path;  // of the XML file, relative to the folder
    std::vector<ImageBox> boxes;
};

/// Every .xml file in and below the folder, sorted by path. Boxes are relative to the image, but may reach beyond it.
/// Error(data) names file and line of what is malformed.
std::vector<XmlAnnotation> read_xml_folder(const std::string& folder, int threads);

}  // namespace cnntrain::data
