// What tests ask of drawings.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <vector>

namespace cnntrain::plan {

inline std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

/// Every tag is closed by its own kind, and text holds no bare signs.
inline void expect_well_formed(const std::string& xml) {
    std::vector<std::string> open;
    const std::regex tag(R"(<(/?)([a-z]+)((?:\s+[A-Za-z0-9:-]+="[^"<&]*")*)\s*(/?)>)");
    std::string rest;
    auto at = xml.cbegin();
    for (std::sregex_iterator found(xml.begin(), xml.end(), tag), end; found != end; ++found) {
        rest.append(at, xml.cbegin() + found->position());
        at = xml.cbegin() + found->position() + found->length();
        const std::string name = (*found)[2];
        if ((*found)[1].length() > 0) {
            ASSERT_FALSE(open.empty());
            EXPECT_EQ(open.back(), name);
            open.pop_back();
        } else if ((*found)[4].length() == 0) {
            open.push_back(name);
        }
    }
    rest.append(at, xml.cend());
    EXPECT_TRUE(open.empty());
    EXPECT_EQ(rest.find_first_of("<>"), std::string::npos);
    EXPECT_FALSE(std::regex_search(rest, std::regex("&(?!(amp|lt|gt|quot);)")));
}

}  // namespace cnntrain::plan
