#include "data/write/annotations.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <set>

#include <pugixml.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/text.h"
#include "data/sets/resolve.h"
#include "data/threads.h"

namespace cnntrain::data {
namespace {

constexpr std::string_view kBlank = " \t\r";

struct TextLine {
    std::string_view text;  // without surrounding blanks
    std::size_t number = 0;
};

/// The non-empty lines.
std::vector<TextLine> text_lines(std::string_view text) {
    constexpr std::string_view kUtf8Mark = "\xef\xbb\xbf";
    if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
    std::vector<TextLine> lines;
    std::size_t number = 0;
    for (const std::string_view whole : split(text, '\n')) {
        const std::string_view line = trimmed(whole, kBlank);
        ++number;
        if (!line.empty()) lines.push_back({line, number});
    }
    return lines;
}

[[noreturn]] void fail_annotation(const std::string& file, std::size_t line, const std::string& what) {
    throw Error(ErrorKind::data, file + ", line " + std::to_string(line) + ": " + what);
}

LabelLine label_line(const std::string& file, const TextLine& line) {
    const std::size_t separator = line.text.find_last_of(" \t,");
    const std::string_view path = trimmed(line.text.substr(0, std::min(separator, line.text.size())), kBlank);
    const std::string_view name = separator == std::string_view::npos ? "" : line.text.substr(separator + 1);
    const std::size_t path_end = path.find_last_not_of(" \t,");
    if (path_end == std::string_view::npos || name.empty()) {
        fail_annotation(file, line.number,
                        "expected a path, a blank, tab or comma, and a class, got '" + std::string(line.text) + "'");
    }
    return {std::string(path.substr(0, path_end + 1)), std::string(name), line.number};
}

std::vector<LabelLine> label_lines(const std::string& file, const std::vector<TextLine>& lines) {
    std::vector<LabelLine> labels;
    std::map<std::string, std::size_t, std::less<>> seen;
    for (const TextLine& line : lines) {
        labels.push_back(label_line(file, line));
        const auto [place, is_new] = seen.emplace(labels.back().path, line.number);
        if (!is_new) {
            fail_annotation(
                file, line.number,
                "the image " + labels.back().path + " is in line " + std::to_string(place->second) + " already");
        }
    }
    if (labels.empty()) throw Error(ErrorKind::data, file + ": the file has no labels");
    return labels;
}

/// Parses a number in [0, 1].
std::optional<float> fraction(std::string_view text) {
    const auto value = as_number<float>(trimmed(text, kBlank));
    return value && *value >= 0 && *value <= 1 ? value : std::nullopt;
}

struct NamedBox {
    std::string path;
    Box box;
};

NamedBox csv_box(const std::string& file, const TextLine& line) {
    std::string_view rest = line.text;
    std::array<float, 4> sides{};
    for (std::size_t i = sides.size(); i-- > 0;) {
        const std::size_t comma = rest.find_last_of(',');
        const std::optional<float> side =
            comma == std::string_view::npos ? std::nullopt : fraction(rest.substr(comma + 1));
        if (!side) {
            fail_annotation(file, line.number,
                            "expected <file name>,<xmin>,<ymin>,<xmax>,<ymax> with numbers from 0 to 1, got '" +
                                std::string(line.text) + "'");
        }
        sides[i] = *side;
        rest = rest.substr(0, comma);
    }
    rest = trimmed(rest, kBlank);
    if (rest.empty()) fail_annotation(file, line.number, "the file name is missing");
    return {std::string(rest), {sides[0], sides[1], sides[2], sides[3]}};
}

std::string_view without_extension(std::string_view path) {
    const std::size_t name = path.find_last_of('/') + 1;  // npos + 1 is 0
    const std::size_t dot = path.find_last_of('.');
    return dot == std::string_view::npos || dot <= name ? path : path.substr(0, dot);
}

}  // namespace

std::string_view stem_of(std::string_view path) {
    return without_extension(last_part(path));
}

std::vector<LabelLine> read_labels(const std::string& file) {
    const std::string text = read_text(posix_files(), file);
    return label_lines(file, text_lines(text));
}

std::vector<LabelLine> read_labels_or_classes(const std::string& file) {
    const std::string text = read_text(posix_files(), file);
    const std::vector<TextLine> lines = text_lines(text);
    const bool classes_only = std::none_of(lines.begin(), lines.end(), [](const TextLine& line) {
        return line.text.find_first_of(" \t,") != std::string_view::npos;
    });
    if (!classes_only || lines.empty()) return label_lines(file, lines);
    std::vector<LabelLine> labels;
    labels.reserve(lines.size());
    for (const TextLine& line : lines) {
        labels.push_back({"", std::string(line.text), line.number});
    }
    return labels;
}

std::vector<std::string> read_classes(const std::string& file) {
    const std::string text = read_text(posix_files(), file);
    std::vector<std::string> classes;
    std::set<std::string, std::less<>> seen;
    for (const TextLine& line : text_lines(text)) {
        classes.emplace_back(line.text.substr(0, line.text.find_first_of(" \t,")));
        if (!seen.insert(classes.back()).second)
            fail_annotation(file, line.number, "the class " + classes.back() + " is repeated");
    }
    if (classes.empty()) throw Error(ErrorKind::data, file + ": the file has no classes");
    return classes;
}

std::map<std::string, std::string, std::less<>> read_class_names(const std::string& file) {
    const std::string text = read_text(posix_files(), file);
    std::map<std::string, std::string, std::less<>> names;
    for (const TextLine& line : text_lines(text)) {
        const std::size_t end = line.text.find_first_of(" \t");
        if (end == std::string_view::npos) {
            fail_annotation(file, line.number,
                            "expected a class, a blank or tab, and its name, got '" + std::string(line.text) + "'");
        }
        const std::string name(line.text.substr(0, end));
        if (!names.emplace(name, trimmed(line.text.substr(end), kBlank)).second) {
            fail_annotation(file, line.number, "the class " + name + " is repeated");
        }
    }
    return names;
}

void BoxTable::add(const std::string& key, ImageBox box) {
    const auto order = [](float& low, float& high) {
        if (high < low) std::swap(low, high);
        low = std::clamp(low, 0.0F, 1.0F);
        high = std::clamp(high, 0.0F, 1.0F);
    };
    order(box.box.x_min, box.box.x_max);
    order(box.box.y_min, box.box.y_max);
    if (!(box.box.x_min < box.box.x_max && box.box.y_min < box.box.y_max)) return;
    const auto [place, is_new] = boxes_.try_emplace(key);
    place->second.push_back(std::move(box));
    if (!is_new) return;
    const auto [name, is_first] = keys_.emplace(last_part(key), key);
    if (!is_first) name->second.clear();
}

BoxTable BoxTable::read(const std::string& path, int threads) {
    BoxTable table;
    if (is_directory(posix_files(), path)) {
        for (const XmlAnnotation& annotation : read_xml_folder(path, threads)) {
            for (const ImageBox& box : annotation.boxes) {
                table.add(std::string(without_extension(annotation.path)), box);
            }
        }
        return table;
    }
    const std::string text = read_text(posix_files(), path);
    for (const TextLine& line : text_lines(text)) {
        const NamedBox named = csv_box(path, line);
        table.add(std::string(without_extension(named.path)), {named.box, ""});
    }
    return table;
}

const std::vector<ImageBox>& BoxTable::of(std::string_view image_path, bool unique_name) const {
    static const std::vector<ImageBox> none;
    auto found = boxes_.find(without_extension(image_path));
    if (found == boxes_.end() && unique_name) {
        const auto key = keys_.find(stem_of(image_path));
        if (key != keys_.end()) found = boxes_.find(key->second);
    }
    return found == boxes_.end() ? none : found->second;
}

std::string BoxTable::digest() const {
    Digest digest;
    for (const auto& [key, boxes] : boxes_) {
        digest.add(key);
        for (const ImageBox& box : boxes) {
            digest.add(box.class_name);
            for (const float side : {box.box.x_min, box.box.y_min, box.box.x_max, box.box.y_max}) {
                digest.add(static_cast<std::uint64_t>(std::bit_cast<std::uint32_t>(side)));
            }
        }
    }
    return digest.text();
}

namespace {

struct XmlText {
    const std::string& file;
    const std::string& text;

    [[noreturn]] void fail(std::ptrdiff_t offset, const std::string& what) const {
        const auto end = text.begin() + std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(text));
        throw Error(ErrorKind::data,
                    file + ", line " + std::to_string(1 + std::count(text.begin(), end, '\n')) + ": " + what);
    }

    pugi::xml_node child(const pugi::xml_node& node, const char* name) const {
        const pugi::xml_node found = node.child(name);
        if (!found) fail(node.offset_debug(), std::string("<") + node.name() + "> has no <" + name + ">");
        return found;
    }

    float number(const pugi::xml_node& parent, const char* name) const {
        const pugi::xml_node node = child(parent, name);
        const std::string_view word = node.text().get();
        const auto value = as_number<float>(trimmed(word, " \t\r\n"));
        if (!value || !std::isfinite(*value)) {
            fail(node.offset_debug(), std::string("<") + name + "> is '" + std::string(word) + "', not a number");
        }
        return *value;
    }
};

std::vector<ImageBox> parse(const std::string& file, const std::string& text) {
    const XmlText xml{file, text};
    pugi::xml_document document;
    const pugi::xml_parse_result result = document.load_buffer(text.data(), text.size());
    if (!result) xml.fail(result.offset, std::string("not an XML file, or cut short: ") + result.description());
    const pugi::xml_node annotation = document.child("annotation");
    if (!annotation) xml.fail(0, "the file has no <annotation>: it is not of the Pascal VOC form");

    std::vector<ImageBox> boxes;
    if (!annotation.child("object")) return boxes;
    const pugi::xml_node size = xml.child(annotation, "size");
    const float width = xml.number(size, "width");
    const float height = xml.number(size, "height");
    if (!(width > 0 && height > 0)) xml.fail(size.offset_debug(), "the <size> of the image is not positive");
    for (const pugi::xml_node& object : annotation.children("object")) {
        const pugi::xml_node box = xml.child(object, "bndbox");
        boxes.push_back({{xml.number(box, "xmin") / width, xml.number(box, "ymin") / height,
                          xml.number(box, "xmax") / width, xml.number(box, "ymax") / height},
                         object.child("name").text().get()});
    }
    return boxes;
}

}  // namespace

std::vector<XmlAnnotation> read_xml_folder(const std::string& folder, int threads) {
    const std::vector<std::string> names = list_files(folder, ".xml").names;
    if (names.empty()) throw Error(ErrorKind::data, "no .xml file in or below " + folder);
    std::vector<XmlAnnotation> annotations(names.size());
    for_each_index(threads, names.size(), [&](std::size_t i) {
        const std::string file = folder + "/" + names[i];
        annotations[i] = {names[i], parse(file, read_text(posix_files(), file))};
    });
    return annotations;
}

}  // namespace cnntrain::data
