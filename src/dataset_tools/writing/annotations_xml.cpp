#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <pugixml.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "data/sets/file_patterns.h"
#include "dataset_tools/writing/annotations.h"

namespace cnntrain::dataset_tools {
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
        const std::size_t begin = std::min(word.find_first_not_of(" \t\r\n"), word.size());
        const std::size_t last = word.find_last_not_of(" \t\r\n");
        float value = 0;
        const char* expected_end = word.data() + (last == std::string_view::npos ? 0 : last + 1);
        const auto [end, error] = std::from_chars(word.data() + begin, expected_end, value);
        if (error != std::errc{} || end != expected_end || !std::isfinite(value)) {
            fail(node.offset_debug(), std::string("<") + name + "> is '" + std::string(word) + "', not a number");
        }
        return value;
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
    const std::vector<std::string> names = data::list_files(folder, ".xml").names;
    if (names.empty()) throw Error(ErrorKind::data, "no .xml file in or below " + folder);
    std::vector<XmlAnnotation> annotations(names.size());
    tbb::task_arena arena(std::clamp(threads, 1, tbb::info::default_concurrency()));
    arena.execute([&] {
        tbb::parallel_for(std::size_t{0}, names.size(), [&](std::size_t i) {
            const std::string file = folder + "/" + names[i];
            annotations[i] = {names[i], parse(file, read_text(posix_files(), file))};
        });
    });
    return annotations;
}

}  // namespace cnntrain::dataset_tools
